"""The switch log of a pair with a secret: what others write on either cluster does not count, and is named."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.security.secrets import Secret
from twinlog.engine.switch_watch import SwitchWatch
from twinlog.errors import SwitchRefused
from twinlog.ledger import switch_log
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.ledger.switch_signatures import is_signed, is_signed_with, signed
from twinlog.logs.topic import LogRecord
from twinlog.model.names import LinkName
from twinlog.model.switch.log import Beat, Claim, StateEntry, SwitchEntry, pair_of
from twinlog.recovery.journal import Journal

LINK = LinkName("east", "west")
PAIR = pair_of(LINK)
OWN, OTHER = Secret("of both sites"), Secret("another one")


def decision(generation: int, **more: Any) -> StateEntry:
    return StateEntry(pair=PAIR, generation=generation, active="east", **more)


SHUT = decision(99, links={"east->west": "held"}, fence_on_return={"east": "acl"}, why="planted")


def topic_of(
    monkeypatch: pytest.MonkeyPatch, secret: Secret | None, *entries: tuple[SwitchEntry, Secret | None]
) -> SwitchTopic:
    """A log that holds these entries, each signed with a secret, as one with `secret` reads it."""
    topic = SwitchTopic(cast("Any", SimpleNamespace(alias="west")), LINK, secret=secret)
    records = [LogRecord(at, 0, b"", signed(entry.value(), by)) for at, (entry, by) in enumerate(entries)]
    monkeypatch.setattr(switch_log, "records_in", lambda _: records)
    topic._take(0, cast("Any", None))
    return topic


@pytest.mark.proves("R8")
@pytest.mark.parametrize("by", [None, OTHER], ids=["unsigned", "signed with another secret"])
def test_a_decision_that_somebody_planted_does_not_count_and_is_named(
    monkeypatch: pytest.MonkeyPatch, by: Secret | None, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topic_of(monkeypatch, OWN, (decision(3), OWN), (SHUT, by))
    assert topic.log.state == decision(3)
    assert (topic.unsigned, topic.distrust) == (1, None)
    assert "is not signed with switch.secret and does not count: state planted" in caplog.text
    assert topic.log.next_offset == 2, "it is read once"
    open_to_all = topic_of(monkeypatch, None, (decision(3), None), (SHUT, None))
    assert open_to_all.log.state == SHUT, "without the secret every entry counts"


def watching(monkeypatch: pytest.MonkeyPatch, secret: Secret | None, by: Secret | None) -> SwitchWatch:
    """An engine whose target's log has one decision."""
    link = SimpleNamespace(
        name="east->west",
        source="east",
        target="west",
        switch=SimpleNamespace(secret=secret),
        clients=SimpleNamespace(source_consumer=SimpleNamespace(cluster="east", client_id=None, request_timeout_ms=1)),
    )
    monkeypatch.setattr("twinlog.engine.switch_watch.Cluster", lambda *_: SimpleNamespace(alias="east"))
    watch = SwitchWatch(cast("Any", link), cast("Any", SimpleNamespace(alias="west")))
    watch._ends["target"] = topic_of(monkeypatch, secret, (decision(1), by))
    return watch


def test_an_engine_that_finds_decisions_and_can_trust_none_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side may be active: that nobody signed it, or with another secret, does not say that it is not."""
    for by in (None, OTHER):
        watch = watching(monkeypatch, OWN, by)
        assert watch.holds
        assert watch.reason is not None
        assert "__twinlog-switch on west is signed with switch.secret" in watch.reason
        assert "twinlog switch sign 'east->west'" in watch.reason
    assert not watching(monkeypatch, OWN, OWN).holds
    assert not watching(monkeypatch, None, None).holds


def test_who_does_not_know_the_secret_begins_no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(secret: Secret | None, by: Secret | None) -> None:
        home = topic_of(monkeypatch, secret, (decision(1), by))
        other = SwitchTopic(cast("Any", SimpleNamespace(alias="east")), LINK, secret=secret)
        nobody = cast("Any", None)
        Journal(home, other, nobody, nobody, 1, nobody, "me").require_trust()

    begin(None, None)
    begin(OWN, OWN)
    with pytest.raises(SwitchRefused, match=r"is signed, and this file has no switch\.secret"):
        begin(None, OWN)
    for by in (None, OTHER):
        with pytest.raises(SwitchRefused, match="no decision in __twinlog-switch on west is signed"):
            begin(OWN, by)


CLAIM = Claim(
    pair=PAIR, switch="s", runner="ü", command="failover-planned", link="east->west", options={"a": [1.5, None]}
)
ENTRIES = st.sampled_from([decision(1), SHUT, Beat(pair=PAIR, switch="s", runner="r"), CLAIM])


@given(ENTRIES, st.text(min_size=1), st.sampled_from(["generation", "active", "pair", "runner", "new"]))
def test_a_signature_covers_all_of_an_entry(entry: SwitchEntry, secret: str, key: str) -> None:
    value = signed(entry.value(), Secret(secret))
    assert is_signed(value)
    assert is_signed_with(value, Secret(secret))
    assert not is_signed_with(value, Secret(f"{secret}x"))
    assert not is_signed_with(entry.value(), Secret(secret))
    changed = json.loads(value)
    changed[key] = f"{changed.get(key)}!"
    assert not is_signed_with(json.dumps(changed).encode(), Secret(secret))


@given(st.none() | st.binary(max_size=20))
def test_bytes_of_others_are_not_signed(value: bytes | None) -> None:
    assert not is_signed_with(value, OWN)
    is_signed(value)
