from __future__ import annotations

from dataclasses import replace

from tests.unit.test_history import status

from twinlog.model.readiness import reasons_against


def test_a_link_whose_data_moves_is_ready():
    assert list(reasons_against(status(), None, ["OK", "STALL"])) == []


def test_a_link_that_was_never_seen_or_cannot_be_seen_is_not():
    assert list(reasons_against(None, None, [])) == ["not looked at yet"]
    assert list(reasons_against(status(), "B: no broker answers", ["OK"])) == ["B: no broker answers"]


def test_a_link_where_nothing_moves_is_not_ready_whatever_its_engine_says():
    assert list(reasons_against(status(), None, ["STALL", "STALL"])) == ["records wait and no partition moves"]


def test_the_true_cause_is_told():
    away = replace(status(), source_trouble="A: no broker answers")
    assert list(reasons_against(away, None, ["OK"])) == ["STALLED: A: no broker answers"]


def test_a_link_that_a_switch_holds_is_ready():
    held = status()
    assert held.engine is not None
    held = replace(held, engine=held.engine.model_copy(update={"phase": "switched", "at_ms": -(10**9)}))
    assert list(reasons_against(held, None, ["STALL"])) == []
