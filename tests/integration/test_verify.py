"""Both logs compared on real brokers, without Spark: a sound copy is equal, a planted fault is found at its offset."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.load import Ending
from tests.kit.planted import Field, Sown, sown
from tests.kit.threads import engine_running

from twinlog.errors import LedgerMissing
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import ChoreNote
from twinlog.model.ledger.runs import Run
from twinlog.model.start import AtTime
from twinlog.model.verify.differences import Kind
from twinlog.model.verify.report import VerifyReport
from twinlog.model.wanted import Wanted
from twinlog.verify.chunk import compare_all
from twinlog.verify.plan import AtOffset, Planner, VerifyWish

MakeEnds = Callable[..., Ends]


def verified(ends: Ends, wish: VerifyWish | None = None) -> VerifyReport:
    """What the command does, with the chunks compared in this process; of the test's own topics, without heartbeats."""
    wish = wish or VerifyWish()
    if wish.wanted.expression is None:
        wish = replace(wish, wanted=Wanted("topics", re.escape(ends.prefix) + ".*"))
    plan = Planner(ends.link, ends.source, ends.target).plan(wish)
    report = VerifyReport(ends.link.name, str(wish), 0, sample=wish.sample, excluded=plan.excluded)
    report.take(compare_all(ends.link, plan.chunks))
    assert not report.troubles
    return report


def found(report: VerifyReport, topic: str) -> list[tuple[Kind, int | None, int | None, int]]:
    return [(d.kind, d.source, d.target, d.count) for p, d in report.differences if p.topic == topic]


@pytest.mark.proves("R1", "R2", "R3", "R4")
def test_what_the_engine_copied_is_proven_equal_and_a_stranger_among_it_is_found(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    with pytest.raises(LedgerMissing):
        Planner(ends.link, ends.source, ends.target).plan(VerifyWish())
    tiny = ends.create("tiny", 2)
    ends.load(tiny, 2, batch_records=1, linger_ms=0, max_record_bytes=100).produce(600)
    large = ends.create("large")
    ends.load(large, compression="lz4").produce(2_000)
    mixed = ends.create("mixed")
    load = ends.load(mixed)
    load.transaction(50, Ending.COMMITTED)
    load.transaction(30, Ending.ABORTED)
    load.produce(20)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
        report = verified(ends)  # while the link runs
        assert report.equal, report.as_markdown()
        assert report.count("equal") == 2_670
        assert report.count("unopened") >= 2_000
        assert report.source_digest == report.target_digest

        stranger = Field(ends)
        stranger.trespass(ends.remote(large), Sown(b"who", b"am I"))
        load = ends.load(large, seed=2)
        load.produce(100)
        ends.await_copied()
        report = verified(ends)
        assert found(report, large) == [(Kind.EXTRA, None, 2_000, 1)]
        assert report.count("equal") == 2_770

    sample = verified(ends, VerifyWish(sample=0.5))
    assert 0 < sample.count("equal") <= 2_770
    part = verified(ends, VerifyWish(Wanted("topics", re.escape(tiny)), first=AtOffset(10), after=AtOffset(100)))
    assert (part.count("equal"), part.equal) == (180, True)
    assert verified(ends, VerifyWish(first=AtTime(4_000_000_000_000))).chunks == 0
    ends.delete_records(tiny, 0, 50)
    after = verified(ends)
    assert (after.count("equal"), [one.offsets for one in after.excluded]) == (2_720, [50])


@pytest.mark.proves("R7")
def test_every_planted_fault_is_found_at_its_offset(make_ends: MakeEnds) -> None:
    good = sown(40)
    flipped = good[17]._replace(value=b"value-17" * 4 + b"value-1?")
    headless = good[5]._replace(headers=good[5].headers[:1])
    planted = {
        "sound": (good, good, None),
        "dropped": (good, [*good[:13], *good[14:]], None),
        "changed": (good, [*good[:17], flipped, *good[18:]], None),
        "swapped": (good, [*good[:20], good[21], good[20], *good[22:]], None),
        "doubled": (good, [*good[:9], good[8], *good[9:]], [Run(0, 0, 9), Run(9, 10, 31)]),
        "headless": (good, [*good[:5], headless, *good[6:]], None),
        "emptied": (good, [*good[:3], good[3]._replace(value=b""), *good[4:]], None),
        "never copied": (good, [*good[:30], *good[31:]], [Run(0, 0, 30), Run(31, 30, 9)]),
    }
    field = Field(make_ends())
    field.sow("faults", *planted.values())
    field.write_ledger()
    report = verified(field.ends)
    places: dict[str, list[tuple[Kind, int | None, int | None, int]]] = {name: [] for name in planted}
    words: dict[str, str] = {}
    for where, d in report.differences:
        name = list(planted)[where.partition]
        places[name].append((d.kind, d.source, d.target, d.count))
        words[name] = d.what
    assert places == {
        "sound": [],
        "dropped": [(Kind.MISSING, 13, 13, 1), (Kind.MOVED, 14, 14, 26)],
        "changed": [(Kind.CHANGED, 17, 17, 1)],
        "swapped": [(Kind.MOVED, 20, 20, 1), (Kind.MOVED, 21, 21, 1)],
        "doubled": [(Kind.EXTRA, None, 9, 1)],
        "headless": [(Kind.CHANGED, 5, 5, 1)],
        "emptied": [(Kind.CHANGED, 3, 3, 1)],
        "never copied": [(Kind.MISSING, 30, None, 1)],
    }
    assert words["changed"] == "value differs from byte 39 of 40 on"
    assert "lost 'empty'" in words["headless"]
    assert words["emptied"] == "value is empty, not 35 bytes"
    assert "source offset 8 a second time" in words["doubled"]
    assert not report.equal


@pytest.mark.proves("R7", "R14")
def test_the_audit_beside_the_link_counts_what_is_equal_and_alarms_until_a_stranger_is_gone(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends(
        audit_interval_seconds="1",
        emit_heartbeats_enabled="false",
        emit_checkpoints_enabled="false",
        sync_group_offsets_enabled="false",
        emit_offset_syncs_enabled="false",
        sync_topic_acls_enabled="false",
    )
    name = ends.create("orders")
    load = ends.load(name, batch_records=50)
    load.produce(500)

    def audit(status: LinkStatus) -> ChoreNote | None:
        return next((note for note in status.chores if note.chore == "audit"), None)

    def sees(status: LinkStatus, records: int, mismatches: int) -> bool:
        note = audit(status)
        return note is not None and (note.counts.get("records", 0) >= records, note.counts["mismatches"]) == (
            True,
            mismatches,
        )

    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_copied()
        status = ends.await_status(lambda s: sees(s, 500, 0), "an audit of 500 records")
        assert status.state == "RUNNING"
        Field(ends).trespass(ends.remote(name), Sown(b"who", b"am I"))
        load.produce(10)
        status = ends.await_status(lambda s: sees(s, 510, 1), "an alarm")
        note = audit(status)
        assert note is not None
        assert "1 copied records differ" in (note.trouble or "")
        assert f"{name}-0: target 500: extra" in note.findings[0]
        assert status.state == "DEGRADED"
    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_status(lambda s: sees(s, 1, 1) and audit(s) != note, "the same alarm of the next engine")
        ends.delete_records(name, 0, 505)
        ends.delete_records(ends.remote(name), 0, 506, on_target=True)
        ends.await_status(lambda s: sees(s, 1, 0), "the end of the alarm")
