"""Whether MirrorMaker 2 ever wrote to a target, and for whom."""

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.mirrormaker.traces import aliases_with_traces, missing_trace

TOPICS = ["orders", "mm2-offsets.primary.internal", "primary.checkpoints.internal", "eu.checkpoints.internal"]


def test_aliases_are_read_from_names_of_topics():
    assert aliases_with_traces(TOPICS) == ("eu", "primary")


def test_a_wrong_alias_is_told_with_the_right_ones():
    told = missing_trace("east", "west", "mm2-offsets.east.internal", TOPICS) or ""
    assert "west has no topic mm2-offsets.east.internal" in told
    assert "for eu, primary: is the alias east the one that it used?" in told


def test_no_trace_at_all_points_to_connect():
    assert "--offsets-topic" in (missing_trace("east", "west", "mm2-offsets.east.internal", ["orders"]) or "")


@given(st.from_regex(r"[a-z][a-z.-]{0,10}", fullmatch=True))
def test_a_source_with_its_offsets_there_has_a_trace(alias: str):
    topic = f"mm2-offsets.{alias}.internal"
    assert missing_trace(alias, "t", topic, [topic]) is None
    assert aliases_with_traces([topic]) == (alias,)
