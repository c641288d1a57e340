"""What the page decides by itself: words, the picture, how far a switch is, what comes first."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.paper_backend import PaperBackend, everything

from twinlog.model.switch.log import StateEntry
from twinlog.recovery.switching import Standing
from twinlog.surface.answers.links import summary_of
from twinlog.surface.page.needs import needs_of, unanswering
from twinlog.surface.page.picture import picture_of
from twinlog.surface.page.words import moment, prose, tone, zone
from twinlog.watch.clusters import ClusterCard
from twinlog.watch.monitor import LinkSnapshot

NAMES = st.lists(st.from_regex(r"[a-z0-9.-]{1,30}", fullmatch=True), min_size=2, max_size=14, unique=True)


@given(NAMES)
def test_clusters_stand_within_the_picture_and_apart(names: list[str]) -> None:
    picture = picture_of((f"{names[0]}->{name}", names[0], name) for name in names[1:])
    assert [node.name for node in picture.nodes] == names
    for node in picture.nodes:
        assert 0 <= node.left <= picture.width - picture.box_width
        assert 0 <= node.top <= picture.height - picture.box_height
        assert len(node.label) <= 20
    corners = {(node.left, node.top) for node in picture.nodes}
    assert len(corners) == len(names)
    for one in picture.nodes:
        for other in picture.nodes:
            apart = abs(one.x - other.x) >= picture.box_width or abs(one.y - other.y) >= picture.box_height
            assert one is other or apart, (one, other)


@given(st.text())
def test_nothing_in_a_sentence_becomes_markup(sentence: str) -> None:
    written = str(prose(sentence)).replace("<code>", "").replace("</code>", "")
    assert "<" not in written
    assert ">" not in written


def test_commands_in_a_sentence_are_code() -> None:
    assert prose("set `on.gap = skip` & wait") == "set <code>on.gap = skip</code> &amp; wait"


def test_a_moment_says_its_day_and_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert zone() == "IST (UTC+05:30)"
        assert moment(1_700_000_000_000) == (
            '<time datetime="2023-11-14T22:13:20Z" title="2023-11-14 22:13:20 UTC">2023-11-15 03:43:20</time>'
        )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert moment(0) == "never"


def snapshots(backend: PaperBackend) -> list[LinkSnapshot]:
    found = [LinkSnapshot(link, backend.observer(link)) for link in backend.links()]
    for snapshot in found:
        snapshot.take(asyncio.run(snapshot.looks.look()))
    return found


@pytest.mark.proves("R14")
def test_what_is_wrong_is_told_first_with_the_way_out() -> None:
    found = snapshots(PaperBackend())
    away = found[-1]
    away.trouble, away.remedy = "archive: connection refused", "Is it up?"
    told = needs_of(found).told
    assert [(need.link, need.tab) for need in told] == [("east->west", "/faults"), (away.link.name, "")]
    assert "4100..4250" in told[0].says
    assert "on.gap" in told[0].remedy
    assert told[1].remedy == "Is it up?"
    assert needs_of(snapshots(PaperBackend(faulted=False))).told == ()
    assert "on.gap" in summary_of(found[0]).remedy


@pytest.mark.proves("R14")
def test_what_is_wrong_with_a_cluster_is_told_unless_a_link_proves_that_it_answers() -> None:
    links = snapshots(PaperBackend(faulted=False))
    for link in links:
        link.looked_ms = 1000
    after = 1001
    refused = "archive: no broker answers: 127.0.0.1:9: connection refused"
    gone = ClusterCard("archive", after, trouble=refused)
    assert unanswering(links, [gone]) == ["archive"]
    (need,) = needs_of(links, [gone]).told
    assert (need.link, need.address, need.tone) == ("archive", "#clusters", "bad")
    assert need.says == "no broker answers: 127.0.0.1:9: connection refused"
    earlier = dataclasses.replace(gone, looked_ms=999)  # the links were seen to copy since
    assert (unanswering(links, [earlier]), needs_of(links, [earlier]).told) == ([], ())
    login = ClusterCard("archive", after, trouble="archive: access denied: Authentication failed")
    assert "Correct sasl.jaas.config of archive" in needs_of(links, [login]).told[0].remedy
    cards = [
        ClusterCard("east", after, under_replicated=4, without_leader=1, fullest=0.5),
        ClusterCard("west", after, under_replicated=1, without_leader=0, fullest=0.91),
    ]
    assert [(need.link, need.tone, need.says) for need in needs_of(links, cards).told] == [
        ("east", "bad", "1 partition has no replica in sync: nobody can read or write there"),
        ("west", "warn", "1 partition lacks a replica in sync"),
        ("west", "warn", "its fullest disk is 91% full"),
    ]


@pytest.mark.parametrize(
    ("active", "url", "told"),
    [
        (True, None, None),
        (False, "http://10.0.0.7:8083", 'run by <a href="http://10.0.0.7:8083/ui/">'),
        (False, None, "does not run the links yet; who does is not known"),
    ],
)
def test_a_service_that_stands_by_says_so_on_every_page(active: bool, url: str | None, told: str | None) -> None:
    app = everything(PaperBackend())
    app.state.connectors = SimpleNamespace(leadership=SimpleNamespace(active=active, leader_url=url))
    page = TestClient(app).get("/ui/events").text
    assert ('class="standby"' in page) == (told is not None)
    assert told is None or told in page


def test_a_link_that_rests_is_told_unless_it_was_switched_away() -> None:
    for phase, told in (("stopped", ["nothing is copied: the engine on"]), ("switched", [])):
        found = snapshots(PaperBackend(faulted=False))[:1]
        status = found[0].status
        assert status is not None
        assert status.engine is not None
        found[0].status = dataclasses.replace(status, engine=status.engine.model_copy(update={"phase": phase}))
        assert [need.says[:32] for need in needs_of(found).told] == told


@pytest.mark.proves("R14")
def test_a_link_that_another_engine_took_says_who_since_when_and_the_way_back() -> None:
    (snapshot, *_) = snapshots(PaperBackend(faulted=False))
    snapshot.superseded = "the engine on vm (pid 7) has run this link since 14:02. `twinlog link restart 'east->west'`"
    assert [need.says for need in needs_of([snapshot]).told] == [snapshot.superseded]
    assert summary_of(snapshot).reason == snapshot.superseded


@pytest.mark.proves("R14")
def test_a_link_that_was_switched_away_tells_the_decision_that_holds() -> None:
    (snapshot, *_) = snapshots(PaperBackend(faulted=False))
    assert snapshot.status is not None
    assert snapshot.status.engine is not None
    said = {"phase": "switched", "trouble": "east is the active side (east is left)"}
    snapshot.status = dataclasses.replace(snapshot.status, engine=snapshot.status.engine.model_copy(update=said))
    held = {"east->west": "held"}
    state = StateEntry(pair="east<->west", generation=4, active="west", why="east is lost", at_ms=1, links=held)
    snapshot.switches = Standing(state, None, ())
    reason = "west is the active side (east is lost); this link does not copy"
    assert summary_of(snapshot).reason == reason


@pytest.mark.proves("R14")
def test_a_source_that_is_gone_is_told_once_with_the_way_out() -> None:
    (snapshot, *_) = snapshots(PaperBackend(faulted=False))
    assert snapshot.status is not None
    chores = tuple(
        note.model_copy(update={"trouble": "east: no broker answers: broker 1: connection refused"})
        for note in snapshot.status.chores
    )
    gone = "reading the topics: east: no broker answers: 127.0.0.1:9: connection refused"
    snapshot.status = dataclasses.replace(snapshot.status, chores=chores, source_trouble=gone)
    (need,) = needs_of([snapshot]).told
    assert (need.says, need.tab) == (gone, "/switch")
    assert "Move to west now" in need.remedy
    snapshot.status = dataclasses.replace(snapshot.status, source_trouble=None)
    assert [need.says for need in needs_of([snapshot]).told] == [
        "acls, audit, configs, groups, heartbeats: east: no broker answers: broker 1: connection refused"
    ]
    assert "Move to west now" in needs_of([snapshot]).told[0].remedy


@pytest.mark.proves("R7")
def test_after_a_failover_it_is_told_that_new_records_exist_once_until_the_way_back_copies() -> None:
    found = snapshots(PaperBackend(faulted=False))
    there = next(snapshot for snapshot in found if snapshot.link.name == "east->west")
    back = next(snapshot for snapshot in found if snapshot.link.name == "west->east")
    assert there.status is not None
    assert there.status.engine is not None
    engine = there.status.engine.model_copy(update={"phase": "switched"})
    there.status = dataclasses.replace(there.status, engine=engine)
    there.switches = Standing(StateEntry(pair="east<->west", generation=3, active="west"), None, ())
    assert [need.says for need in needs_of([there]).told] == [
        "west is active and nothing copies it: new data on west has no copy anywhere"
    ]
    assert needs_of([there, back]).told == ()
    there.switches = Standing(StateEntry(pair="east<->west", generation=5, active="east"), None, ())
    assert needs_of([there]).told == ()


@pytest.mark.proves("R14")
def test_a_silent_engine_is_named() -> None:
    found = snapshots(PaperBackend(faulted=False))[:1]
    status = found[0].status
    assert status is not None
    assert status.engine is not None
    engine = status.engine.model_copy(update={"at_ms": status.now_ms - 90_000})
    found[0].status = dataclasses.replace(status, engine=engine)
    assert found[0].status.state == "STALLED"
    assert needs_of(found).told[0].says == "its engine on mirror-1 (process 4711) has been silent for 90 s"
    assert summary_of(found[0]).reason == "its engine has been silent for 90 s"


def test_a_thousand_faults_are_a_few_lines() -> None:
    found = snapshots(PaperBackend(topics=40, partitions=25))
    status = found[0].status
    assert status is not None
    fault = next(part.fault for part in status.partitions if part.fault is not None)
    faulted = tuple(dataclasses.replace(part, fault=fault) for part in status.partitions)
    found[0].status = dataclasses.replace(status, partitions=faulted)
    needs = needs_of(found * 5)
    assert len(needs.told) == 8
    assert needs.untold == 7
    assert any("and 998 more faults" in need.says for need in needs.told)


def test_an_unknown_state_is_not_a_good_one() -> None:
    assert tone("SOMETHING_NEW") == "bad"


def test_the_overview_links_to_the_dashboards_that_the_file_names() -> None:
    app = everything(PaperBackend())
    with TestClient(app) as client:
        assert "Grafana" not in client.get("/ui/").text
        app.state.app_state.grafana = "https://grafana.example.com/d/twinlog"
        assert '<a href="https://grafana.example.com/d/twinlog" rel="noopener noreferrer">' in client.get("/ui/").text


@pytest.mark.proves("R14")
def test_the_card_of_a_cluster_that_is_down_is_red_also_where_its_figures_are_older() -> None:
    app = everything(PaperBackend(faulted=False))
    with TestClient(app) as client:
        state = app.state.app_state
        state.cluster_watch.cards["east"] = ClusterCard("east", 1, 3, 3, 128, 1024, 0, 0, release="4.1 or newer")
        snapshot = state.monitor.snapshots.setdefault("east->west", LinkSnapshot(state.links()[0], SimpleNamespace()))
        backend = PaperBackend(faulted=False)
        seen = asyncio.run(backend.observer(backend.links()[0]).look())
        snapshot.status = dataclasses.replace(
            seen, source_trouble="east: no broker answers", source_unreachable=True, source_seen_ms=1
        )
        (card,) = re.findall(
            r'<section class="card cluster-card (\w+)" aria-label="Cluster east">',
            client.get("/ui/parts/clusters").text,
        )
        assert card == "bad"
