"""Rules of a schema are stored in one form, merged by name, and refused where they cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.registry.asking import Asking, record

from twinlog.registry.rule_sets import merged_rules, rule_set_json, rule_set_of

CONDITION = {"name": "big", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "message.a > 1"}


def _register(ask: Asking, **rules: Any) -> Any:
    return ask.register("orders-value", record("Order", a="int"), ruleSet=rules)


def test_a_rule_is_answered_with_all_that_counts() -> None:
    ask = Asking()
    given = {"type": "ENCRYPT", "tags": ["PII", "A"], "params": {"b": "2", "a": "1"}, "name": "hide", "unknown": 1}
    assert _register(ask, domainRules=[given]).json()["ruleSet"] == {
        "domainRules": [
            {
                "name": "hide",
                "kind": "TRANSFORM",
                "mode": "WRITEREAD",
                "type": "ENCRYPT",
                "tags": ["A", "PII"],
                "params": {"a": "1", "b": "2"},
                "disabled": False,
            }
        ]
    }


def test_rules_that_say_the_same_are_one_schema() -> None:
    ask = Asking()
    first = _register(ask, domainRules=[{"name": "hide", "type": "ENCRYPT", "tags": ["B", "A"]}])
    written_out = {"tags": ["A", "B"], "mode": "WRITEREAD", "kind": "TRANSFORM", "name": "hide", "type": "ENCRYPT"}
    again = _register(ask, domainRules=[written_out])
    assert (first.json()["id"], first.json()["guid"]) == (again.json()["id"], again.json()["guid"])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"domainRules": [{"type": "CEL"}]}, "Missing rule name"),
        ({"domainRules": [{"name": "", "type": "CEL"}]}, "Empty rule name"),
        ({"domainRules": [{"name": "x" * 257, "type": "CEL"}]}, "Rule name too long"),
        ({"domainRules": [{"name": "1a", "type": "CEL"}]}, "Illegal initial character in rule name: 1a"),
        ({"domainRules": [{"name": "a b", "type": "CEL"}]}, "Illegal character in rule name: a b"),
        ({"domainRules": [{"name": "a"}]}, "Missing rule type"),
        ({"domainRules": [CONDITION, CONDITION]}, "Found rule with duplicate name 'big'"),
        (
            {"migrationRules": [{**CONDITION, "mode": "UPGRADE"}], "domainRules": [CONDITION]},
            "Found rule with duplicate name 'big'",
        ),
        ({"migrationRules": [CONDITION]}, "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN"),
        ({"domainRules": [{**CONDITION, "mode": "UPDOWN"}]}, "Domain rules can only be WRITE, READ, WRITEREAD"),
        ({"encodingRules": [{**CONDITION, "mode": "UPGRADE"}]}, "Encoding rules can only be WRITE, READ, WRITEREAD"),
        (
            {"domainRules": [{**CONDITION, "onFailure": "NONE,ERROR"}]},
            "Multiple actions only valid with WRITEREAD and UPDOWN",
        ),
    ],
)
def test_rules_that_cannot_be_are_refused(rules: dict[str, Any], message: str) -> None:
    answer = _register(Asking(), **rules)
    assert (answer.status, answer.json()) == (422, {"error_code": 42210, "message": message})


@pytest.mark.parametrize("wrong", [{"mode": "SOMETIMES"}, {"kind": "GUESS"}])
def test_an_unknown_kind_or_mode_is_no_rule(wrong: dict[str, str]) -> None:
    assert _register(Asking(), domainRules=[{**CONDITION, **wrong}]).status == 400


def test_a_name_of_256_letters_and_two_actions_are_taken() -> None:
    rule = {"name": "x" * 256, "type": "CEL", "mode": "WRITEREAD", "onFailure": "NONE,ERROR"}
    assert _register(Asking(), domainRules=[rule]).status == 200


def test_settings_keep_rules_in_the_same_form() -> None:
    ask = Asking()
    answer = ask("PUT", "/config/s", {"defaultRuleSet": {"domainRules": [{"name": "a", "type": "CEL"}]}})
    assert answer.json()["defaultRuleSet"]["domainRules"][0]["mode"] == "WRITEREAD"
    assert ask("PUT", "/config/s", {"overrideRuleSet": {"domainRules": [{"name": "a"}]}}).json()["error_code"] == 42210


def test_new_rules_replace_old_ones_of_their_name() -> None:
    old = rule_set_of({"domainRules": [{"name": "a", "type": "X"}, {"name": "b", "type": "X"}], "migrationRules": []})
    new = rule_set_of({"domainRules": [{"name": "a", "type": "Y"}]})
    merged = merged_rules(old, new)
    assert merged is not None
    assert [(one["name"], one["type"]) for one in rule_set_json(merged)["domainRules"]] == [("b", "X"), ("a", "Y")]


def test_rules_of_a_mode_that_comes_later_are_still_read_from_the_topic() -> None:
    found = rule_set_of({"domainRules": [{"name": "a", "type": "X", "mode": "LATER"}]})
    assert found is not None
    assert rule_set_json(found)["domainRules"][0]["mode"] == "LATER"
