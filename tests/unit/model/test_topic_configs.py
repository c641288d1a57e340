"""Topic configs, three-way: what follows the source, what was changed by hand, what is none of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.selection import Patterns
from twinlog.model.topics.configs import (
    ConfigOrigin,
    ConfigRules,
    ConflictPolicy,
    Fate,
    TopicConfig,
    config_changes,
    copied_configs,
    judge_configs,
    next_base,
)

NAMES = ("retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas", "flush.ms")
EXCLUDED = Patterns((r"min\.insync.*",))

policies = st.sampled_from(("report", "revert", "keep"))
values = st.sampled_from(("1", "2", "3"))
rules = st.builds(ConfigRules, exclude=st.just(EXCLUDED), copy_defaults=st.booleans(), conflict=policies)
source_configs = st.lists(
    st.builds(
        TopicConfig,
        name=st.sampled_from(NAMES),
        value=values,
        origin=st.sampled_from(ConfigOrigin),
        read_only=st.booleans(),
        sensitive=st.booleans(),
    ),
    unique_by=lambda config: config.name,
)
overrides = st.dictionaries(st.sampled_from(NAMES), values)
bases = st.dictionaries(st.sampled_from(NAMES), values)


def on_target(values: dict[str, str]) -> list[TopicConfig]:
    return [TopicConfig(name, value) for name, value in values.items()]


def obeyed(have: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    after = {**have, **changes}
    return {name: value for name, value in after.items() if value is not None}


def report(*, conflict: ConflictPolicy = "report", copy_defaults: bool = False) -> ConfigRules:
    return ConfigRules(EXCLUDED, copy_defaults=copy_defaults, conflict=conflict)


@given(source_configs, overrides, bases, rules)
@pytest.mark.proves("R13")
def test_one_cycle_is_enough(
    source: list[TopicConfig], have: dict[str, str], base: dict[str, str], rules: ConfigRules
) -> None:
    first = judge_configs(source, on_target(have), base, rules)
    changes = config_changes(first)

    again = judge_configs(source, on_target(obeyed(have, changes)), next_base(first), rules)

    assert config_changes(again) == {}
    assert next_base(again) == next_base(first)


@given(source_configs, overrides, bases, rules)
@pytest.mark.proves("R13")
def test_afterwards_every_config_equals_the_source_or_is_named_or_is_not_copied(
    source: list[TopicConfig], have: dict[str, str], base: dict[str, str], rules: ConfigRules
) -> None:
    verdicts = judge_configs(source, on_target(have), base, rules)
    after = obeyed(have, config_changes(verdicts))

    wanted = dict(copied_configs(source, rules))
    for verdict in verdicts:
        if verdict.fate is Fate.NOT_COPIED:
            assert verdict.why
            assert after.get(verdict.name) == have.get(verdict.name)
        elif verdict.fate is Fate.BY_HAND:
            assert after.get(verdict.name) == have.get(verdict.name)
            assert rules.conflict != "revert"
        else:
            assert after.get(verdict.name) == wanted.get(verdict.name)
    assert {verdict.name for verdict in verdicts} == {config.name for config in source}


@given(source_configs, overrides, bases, rules)
def test_what_is_excluded_read_only_or_sensitive_is_never_touched(
    source: list[TopicConfig], have: dict[str, str], base: dict[str, str], rules: ConfigRules
) -> None:
    closed = {c.name for c in source if c.read_only or c.sensitive or EXCLUDED.matches(c.name)}

    verdicts = judge_configs(source, on_target(have), base, rules)

    assert not closed & config_changes(verdicts).keys()
    assert not closed & next_base(verdicts).keys()


@given(source_configs, overrides, bases, st.sampled_from(("report", "keep")), st.booleans())
@pytest.mark.proves("R13")
def test_nothing_but_what_we_gave_is_overwritten_unless_the_policy_says_so(
    source: list[TopicConfig], have: dict[str, str], base: dict[str, str], conflict: ConflictPolicy, defaults: bool
) -> None:
    rules = report(conflict=conflict, copy_defaults=defaults)

    changes = config_changes(judge_configs(source, on_target(have), base, rules))

    assert all(have.get(name) == base.get(name) for name in changes)


@given(source_configs, overrides, bases, st.booleans())
def test_reverting_leaves_only_what_the_brokers_files_say_by_hand(
    source: list[TopicConfig], have: dict[str, str], base: dict[str, str], defaults: bool
) -> None:
    rules = report(conflict="revert", copy_defaults=defaults)

    assert all(v.fate is not Fate.BY_HAND for v in judge_configs(source, on_target(have), base, rules))


@given(source_configs, rules)
def test_a_topic_made_by_us_or_by_mirrormaker_is_taken_over_without_a_change(
    source: list[TopicConfig], rules: ConfigRules
) -> None:
    made = dict(copied_configs(source, rules))

    verdicts = judge_configs(source, on_target(made), {}, rules)

    assert config_changes(verdicts) == {}
    assert all(verdict.fate is not Fate.BY_HAND for verdict in verdicts)
    assert next_base(verdicts) == made


def test_a_source_that_drops_its_own_value_takes_ours_back() -> None:
    for origin in (ConfigOrigin.DEFAULT, ConfigOrigin.STATIC_BROKER):
        source = [TopicConfig("retention.ms", "9", origin)]

        verdicts = judge_configs(source, on_target({"retention.ms": "5"}), {"retention.ms": "5"}, report())

        assert config_changes(verdicts) == {"retention.ms": None}


def test_a_value_given_by_hand_stays_by_hand_however_often_we_look() -> None:
    source, base = [TopicConfig("retention.ms", "5")], {"retention.ms": "5"}
    for _ in range(3):
        verdicts = judge_configs(source, on_target({"retention.ms": "7"}), base, report())
        assert [verdict.fate for verdict in verdicts] == [Fate.BY_HAND]
        base = next_base(verdicts)

    source = [TopicConfig("retention.ms", "6")]  # the source goes on, the hand still wins
    assert config_changes(judge_configs(source, on_target({"retention.ms": "7"}), base, report())) == {}
    # The hand gives in.
    after = judge_configs(source, on_target({"retention.ms": "5"}), base, report())
    assert config_changes(after) == {"retention.ms": "6"}


def test_a_refused_value_is_not_taken_for_given() -> None:
    source = [TopicConfig("retention.ms", "5"), TopicConfig("flush.ms", "1")]

    verdicts = judge_configs(source, [], {"flush.ms": "9"}, report())

    assert next_base(verdicts, refused=["retention.ms"]) == {"flush.ms": "9"}


def test_the_source_defaults_are_copied_only_when_asked_for() -> None:
    source = [TopicConfig("retention.ms", "5", ConfigOrigin.DEFAULT), TopicConfig("flush.ms", "1")]

    assert dict(copied_configs(source, report())) == {"flush.ms": "1"}
    assert dict(copied_configs(source, report(copy_defaults=True))) == {"flush.ms": "1", "retention.ms": "5"}
