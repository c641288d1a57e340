"""Topic configs: which are copied, and what happens to one that an operator changed on the target. Pure and picklable.

    source's configs ─▶ wishes ─┐
    target's overrides ─────────┼─▶ judge_configs ─▶ one verdict per config ─▶ changes, differences, the new base
    base: what we last gave it ─┘

Three-way: a target that still has what we gave it follows the source. One that has something else was changed by hand,
and the policy decides whether that stays (R13). Without a base nothing counts as ours but what equals the source, so
that a setting made before Twinlog came is never destroyed, and copies made by MirrorMaker 2 are taken over as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

FENCE_CONFIG: Final = "max.message.bytes"
FENCE_VALUES: Final = frozenset({"78", "0"})
"""A switch shuts producers out of a topic with these limits: what a marker of a transaction needs, then nothing."""

ConflictPolicy: TypeAlias = Literal["report", "revert", "keep"]


# --- observed ---------------------------------------------------------------------------------------------------------


class ConfigOrigin(Enum):
    """Who decided the value of a topic config."""

    TOPIC = "topic"
    DYNAMIC_BROKER = "dynamic broker"
    DYNAMIC_DEFAULT_BROKER = "dynamic default broker"
    STATIC_BROKER = "static broker"
    DEFAULT = "default"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One config in force for a topic. The value is None when it is sensitive."""

    name: str
    value: str | None
    origin: ConfigOrigin = ConfigOrigin.TOPIC
    read_only: bool = False
    sensitive: bool = False

    @property
    def is_default(self) -> bool:
        """Whether nobody set it anywhere: the value is the one compiled into Kafka."""
        return self.origin is ConfigOrigin.DEFAULT


# --- which are copied -------------------------------------------------------------------------------------------------


class NamePatterns(Protocol):
    """Anything that knows names; the settings' compiled patterns are one."""

    def matches(self, name: str) -> bool:
        """Tell whether the name is one of them."""
        ...

    def deciding(self, name: str) -> str | None:
        """Return the pattern that matches, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ConfigRules:
    """What a link says about configs. MirrorMaker 2's `use.defaults.from = source` is `copy_defaults`."""

    exclude: NamePatterns
    copy_defaults: bool = False
    conflict: ConflictPolicy = "report"


def hindrance(config: TopicConfig, rules: ConfigRules) -> str | None:
    """Why a config is none of ours, by MirrorMaker 2's rules; None when it is copied."""
    if (pattern := rules.exclude.deciding(config.name)) is not None:
        return f"excluded by {pattern}"
    if config.read_only:
        return "read-only"
    if config.name == FENCE_CONFIG and config.value in FENCE_VALUES:
        return "a fence: a switch shut the topic on the source"
    if config.sensitive or config.value is None:
        return "sensitive: its value is not shown"
    return None


def copied_configs(configs: Iterable[TopicConfig], rules: ConfigRules) -> tuple[tuple[str, str], ...]:
    """Return the configs of a new target topic: what was set for the topic or at run time.

    What stands in the source brokers' files stays behind, as do the link's exclusions (which name
    `message.timestamp.type`: a mirror of a log-append-time topic keeps the times the source gave).
    """
    wished = ((config.name, _wish(config, rules)) for config in configs if hindrance(config, rules) is None)
    return tuple(sorted((name, value) for name, value in wished if value is not None))


def _wish(config: TopicConfig, rules: ConfigRules) -> str | None:
    """The override that the target should have; None for none."""
    if config.origin is ConfigOrigin.STATIC_BROKER or (config.is_default and not rules.copy_defaults):
        return None
    return config.value


# --- the three-way diff -----------------------------------------------------------------------------------------------


class Fate(Enum):
    """What becomes of one config of one topic."""

    IN_STEP = "in sync"
    CHANGE = "to be changed"
    REVERT = "changed by hand on the target; to be reverted"
    BY_HAND = "changed by hand on the target; kept"
    NOT_COPIED = "not copied"


@dataclass(frozen=True, slots=True)
class ConfigVerdict:
    """One config of one topic. `wish` and `have` are overrides of the topic; None is none."""

    name: str
    fate: Fate
    in_force: str | None  # on the source, whoever decided it
    wish: str | None = None
    have: str | None = None
    base: str | None = None
    why: str = ""  # of NOT_COPIED


def judge_configs(
    source: Iterable[TopicConfig], target: Iterable[TopicConfig], base: Mapping[str, str], rules: ConfigRules
) -> list[ConfigVerdict]:
    """Judge every config that the source has in force, sorted by name."""
    overrides = {config.name: config.value for config in target if config.origin is ConfigOrigin.TOPIC}
    return [
        _judge(config, overrides.get(config.name), base.get(config.name), rules)
        for config in sorted(source, key=lambda config: config.name)
    ]


def _judge(config: TopicConfig, have: str | None, base: str | None, rules: ConfigRules) -> ConfigVerdict:
    why = hindrance(config, rules)
    if why is not None:
        shown = None if config.sensitive else config.value
        return ConfigVerdict(config.name, Fate.NOT_COPIED, shown, have=have, why=why)
    wish = _wish(config, rules)
    if config.origin is ConfigOrigin.STATIC_BROKER and (have is None or have != base):
        # Not the topic's own on the source. Only an override that we gave ourselves, when it was, is taken back.
        why = "set in the source brokers' files"
        return ConfigVerdict(config.name, Fate.NOT_COPIED, config.value, have=have, why=why)
    if have == wish:
        fate = Fate.IN_STEP
    elif have == base:
        fate = Fate.CHANGE
    else:
        fate = Fate.REVERT if rules.conflict == "revert" else Fate.BY_HAND
    return ConfigVerdict(config.name, fate, config.value, wish, have, base)


def config_changes(verdicts: Iterable[ConfigVerdict]) -> dict[str, str | None]:
    """What to set on the target; None unsets."""
    return {v.name: v.wish for v in verdicts if v.fate in {Fate.CHANGE, Fate.REVERT}}


def next_base(verdicts: Iterable[ConfigVerdict], refused: Iterable[str] = ()) -> dict[str, str]:
    """What the target has from us once the changes are made, but for those it refused.

    A base of "no override" is not kept: for the rules it is the same as none at all.
    """
    given: dict[str, str] = {}
    failed = set(refused)
    for verdict in verdicts:
        done = verdict.fate is Fate.IN_STEP or (
            verdict.fate in {Fate.CHANGE, Fate.REVERT} and verdict.name not in failed
        )
        value = verdict.wish if done else verdict.base
        if value is not None:
            given[verdict.name] = value
    return given


def named_config(sentence: str, configs: Collection[str]) -> str | None:
    """Return the config that a broker's sentence complains about; the longest if several are named."""
    words = {word.strip("'\"`.,:;()") for word in sentence.split()}
    return max((config for config in configs if config in words), key=len, default=None)
