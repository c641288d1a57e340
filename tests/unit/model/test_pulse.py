"""Ages by our own clock: a record of a host whose clock is wrong is neither alive nor dead because of it."""

from __future__ import annotations

import pytest

from twinlog.model.health.pulse import Pulse
from twinlog.model.health.states import LinkStatus, judge
from twinlog.model.ledger.records import Engine

HOUR_MS = 3_600_000
NOW = 1_800_000_000_000


@pytest.mark.proves("R14")
def test_a_stamp_in_the_future_is_no_sign_of_life() -> None:
    pulse = Pulse()
    pulse.hear("beat", NOW + HOUR_MS, NOW, 0.0)
    assert pulse.age_s(5.0) is None
    assert pulse.unmoved_s(11.0) == 11.0


def test_a_record_that_changes_is_alive_whatever_its_clock_says() -> None:
    pulse = Pulse()
    pulse.hear("beat", NOW - HOUR_MS, NOW, 0.0)
    assert pulse.age_s(0.0) == HOUR_MS / 1000
    pulse.hear("next beat", NOW - HOUR_MS + 5000, NOW + 5000, 5.0)
    assert pulse.age_s(5.0) == 0.0
    assert pulse.age_s(7.0) == 2.0


@pytest.mark.proves("R14")
def test_a_record_that_is_old_by_its_stamp_alone_is_doubtful_until_it_was_watched() -> None:
    pulse = Pulse()
    pulse.hear("beat", NOW - HOUR_MS, NOW, 0.0)
    assert pulse.doubtful(1.0, old_s=20, watched_s=3)
    assert not pulse.doubtful(3.0, old_s=20, watched_s=3)
    assert pulse.age_s(3.0) == HOUR_MS / 1000 + 3
    pulse.hear("next beat", NOW - HOUR_MS + 2000, NOW + 2000, 2.0)
    assert not pulse.doubtful(2.0, old_s=20, watched_s=3)
    assert pulse.age_s(2.0) == 0.0


def test_a_record_that_is_not_very_old_is_believed_at_once() -> None:
    pulse = Pulse()
    pulse.hear("beat", NOW - 8_000, NOW, 0.0)
    assert not pulse.doubtful(0.0, old_s=20, watched_s=3)


def test_the_first_look_takes_a_plausible_stamp_as_a_hint() -> None:
    pulse = Pulse()
    pulse.hear("beat", NOW - 3_000, NOW, 100.0)
    assert pulse.age_s(101.0) == 4.0


@pytest.mark.proves("R14")
def test_an_engine_that_did_not_speak_while_we_looked_is_silent() -> None:
    engine = Engine(engine_id="e", generation=1, phase="running", at_ms=NOW + HOUR_MS)
    assert judge(LinkStatus("A->B", engine, (), now_ms=NOW, engine_age_s=25.0)) == "STALLED"
    late = Engine(engine_id="e", generation=1, phase="running", at_ms=NOW - HOUR_MS)
    assert judge(LinkStatus("A->B", late, (), now_ms=NOW, engine_age_s=2.0)) != "STALLED"
