"""Quotas and group configs: what is set, kept and removed on the target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.access.client_quotas import entity_of, entity_text, number_text, quota_values
from twinlog.model.access.scram_users import missing_users
from twinlog.model.access.value_tables import ValueChange, judge_values, next_given
from twinlog.model.health.inspection import QuotaFacts

OWNERS = st.sampled_from(["anna", "otto"])
TABLES = st.dictionaries(OWNERS, st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "3"])))


def applied(target, changes):
    result = {owner: dict(values) for owner, values in target.items()}
    for change in changes:
        if change.wish is None:
            result[change.owner].pop(change.key)
        else:
            result.setdefault(change.owner, {})[change.key] = change.wish
    return result


def flat(table):
    return {(owner, key): value for owner, values in table.items() for key, value in values.items()}


@pytest.mark.proves("R13")
@given(TABLES, TABLES, TABLES)
def test_after_the_changes_every_value_is_equal_or_listed(source, target, ours):
    verdict = judge_values(source, target, ours, removing=True)
    after = flat(applied(target, verdict.changes))
    listed = {(change.owner, change.key) for change in verdict.by_hand}
    for where, value in flat(source).items():
        assert after.get(where) == value or where in listed


@given(TABLES, TABLES, TABLES)
def test_what_somebody_else_set_on_the_target_is_never_changed(source, target, ours):
    verdict = judge_values(source, target, ours, removing=True)
    before, after, given_by_us = flat(target), flat(applied(target, verdict.changes)), flat(ours)
    for where, value in before.items():
        if given_by_us.get(where) != value:
            assert after.get(where) == value


@given(TABLES, TABLES, TABLES)
def test_a_second_comparison_finds_nothing_to_do(source, target, ours):
    verdict = judge_values(source, target, ours, removing=True)
    after = applied(target, verdict.changes)
    again = judge_values(source, after, next_given(source, target, ours, verdict.changes), removing=True)
    assert again.changes == ()
    assert again.by_hand == verdict.by_hand


@given(TABLES, TABLES, TABLES)
def test_without_removing_nothing_is_taken_away(source, target, ours):
    verdict = judge_values(source, target, ours, removing=False)
    assert all(change.wish is not None for change in verdict.changes)


def test_a_value_that_the_source_dropped_goes_where_we_gave_it():
    verdict = judge_values({}, {"anna": {"a": "1"}}, {"anna": {"a": "1"}}, removing=True)
    assert verdict.changes == (ValueChange("anna", "a", None, "1"),)


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "client-id"]), st.none() | st.text()),
        min_size=1,
        max_size=2,
        unique_by=lambda part: part[0],
    )
)
def test_an_entity_reads_back_as_it_was_written(parts):
    entity = tuple(sorted(parts))
    assert entity_of(entity_text(entity)) == entity


def test_quotas_of_addresses_stay_with_their_cluster_and_numbers_have_one_form():
    quotas = [
        QuotaFacts((("ip", "10.0.0.1"),), (("connection_creation_rate", 5.0),)),
        QuotaFacts((("user", "anna"),), (("producer_byte_rate", 1048576.0), ("request_percentage", 12.5))),
    ]
    assert quota_values(quotas) == {'user="anna"': {"producer_byte_rate": "1048576", "request_percentage": "12.5"}}
    assert number_text(0.0) == "0"


def test_a_user_with_another_mechanism_is_missing():
    source = {"anna": frozenset({"SCRAM-SHA-256", "SCRAM-SHA-512"}), "otto": frozenset({"SCRAM-SHA-512"})}
    missing = missing_users(source, {"anna": frozenset({"SCRAM-SHA-512"}), "otto": frozenset({"SCRAM-SHA-512"})})
    assert [str(user) for user in missing] == ["anna (SCRAM-SHA-256)"]
    assert "--add-config 'SCRAM-SHA-256=[password=<password>]'" in missing[0].command("kafka-configs.sh")
