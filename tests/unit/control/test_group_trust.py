"""Services of one group: whom a standby believes to lead, and as whom the leader takes what is passed on."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.basic_login import basic
from tests.kit.connect_paper import PaperService, PaperStore, PaperTopic, asked, served
from tests.kit.fixed_answers import answering

from twinlog.config.security.secrets import Secret
from twinlog.config.security.users import save_user, with_password
from twinlog.config.service_settings import HttpSettings
from twinlog.control.audit import Grant, Who
from twinlog.control.group_trust import AT, BODY, WHO, GroupTrust, digest
from twinlog.control.record_signatures import Record, RecordSignatures
from twinlog.model.connectors import GroupState, Leader
from twinlog.model.selection import Patterns
from twinlog.surface.http.serve import address_of, bind

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"
LINK = "/connectors/F-%3EG.MirrorSourceConnector"
SHARED = Secret("a secret of the whole group")


@pytest.fixture
def users(tmp_path: Path) -> Path:
    for name, role in (("anna", "admin"), ("vera", "viewer")):
        save_user(tmp_path / "users", with_password(name, role, f"{name}-password"))
    return tmp_path / "users"


def standby(users: Path, leader: Leader, **more: Any) -> PaperService:
    """A service that stands by for somebody whom the links topic names."""
    topic = PaperTopic()
    topic.plant(*topic.group_state.leader_record(leader))
    topic.stores.append(PaperStore(topic, None, lambda _: None, lambda: None))  # somebody is first in line
    return PaperService(topic, text=FILE, http=HttpSettings(users_file=users, **more), instance="standby")


@pytest.mark.proves("R12")
@pytest.mark.parametrize("shared", [None, SHARED], ids=["no secret", "a secret"])
def test_nothing_is_sent_to_a_leader_that_somebody_planted(users: Path, shared: Secret | None):
    with answering(200) as (port, heard):
        planted = Leader("x", f"http://127.0.0.1:{port}", ("F->G",))
        with asked(standby(users, planted, group_secret=shared), active=False) as client:
            assert client.get("/connectors", headers=basic("anna")).status_code == 200, "told by the links topic"
            answer = client.put(f"{LINK}/pause", headers=basic("anna"))
            assert answer.status_code == 409
            assert "http.group.secret" in answer.text
        assert heard == []


def test_no_login_goes_out_in_clear_text_or_after_a_redirect(users: Path):
    with answering(200) as (elsewhere, heard):
        with answering(302, f"location: http://127.0.0.1:{elsewhere}/") as (port, first):
            url = f"http://127.0.0.1:{port}"
            with asked(standby(users, Leader("x", url), group_urls=(url,)), active=False) as client:
                answer = client.put(f"{LINK}/pause", headers=basic("anna"), follow_redirects=False)
                assert answer.status_code == 302
                # Python's own client follows readers only.
                assert client.get("/connectors", headers=basic("anna"), follow_redirects=False).status_code == 302
            assert first, "a listed address on this machine is asked"
        assert heard == []
    beyond = "http://192.0.2.1:8083"
    with asked(standby(users, Leader("x", beyond), group_urls=(beyond,)), active=False) as client:
        answer = client.put(f"{LINK}/pause", headers=basic("anna"))
        assert (answer.status_code, "https" in answer.text) == (409, True)


def test_a_standby_says_for_whom_it_asks_and_signs_it(users: Path):
    http = HttpSettings(users_file=users, group_secret=SHARED)
    topic = PaperTopic()
    sock = bind("127.0.0.1:0", http)
    one = PaperService(topic, text=FILE, http=http, instance="one", url=address_of(sock, http))
    two = PaperService(topic, text=FILE, http=http, instance="two")
    with served(one, sock) as address, asked(two, active=False) as client:
        assert client.put(f"{LINK}/pause", headers=basic("anna")).status_code == 202
        assert client.put(f"{LINK}/pause", headers=basic("vera")).status_code == 403
        assert client.get(f"{LINK}/status", headers=basic("vera")).json()["connector"]["state"] == "PAUSED"
        trust = GroupTrust(topic.group_state.group, SHARED)
        signed = trust.pass_on("PUT", f"{LINK}/resume", b"", Who("anna", "admin", "10.0.0.9"))
        other = GroupTrust(topic.group_state.group, Secret("another")).pass_on(
            "PUT", f"{LINK}/resume", b"", Who("x", "admin")
        )
        for wrong in (other, signed | {WHO: "x"}, signed | {AT: f"{time.time() + 30:.0f}"}):
            assert _put(f"{address}{LINK}/resume", wrong) == 401
        assert _put(f"{address}{LINK}/stop", signed) == 401, "signed for another order"
        assert _put(f"{address}{LINK}/resume", signed, b"{}") == 400, "signed for another body"
        forged = signed | {BODY: digest(b"{}")}
        assert _put(f"{address}{LINK}/resume", forged, b"{}") == 401, "the body's digest is signed, too"
        assert _put(f"{address}{LINK}/resume", signed) == 202
    audited = [entry for entry in map(json.loads, topic.audited) if entry["what"] in {"paused", "started"}]
    assert [(entry["name"], entry["address"]) for entry in audited] == [("anna", "testclient"), ("anna", "10.0.0.9")]


def _put(url: str, headers: dict[str, str], body: bytes = b"") -> int:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=20)
    connection.request("PUT", place.path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


NAMES = st.text(max_size=8)


@given(NAMES, NAMES, st.sampled_from(["viewer", "operator", "admin"]), st.booleans())
def test_who_asks_arrives_as_they_were(name: str, address: str, role: Any, limited: bool):
    grants = (Grant(role, Patterns(("east->.*",))), Grant("viewer")) if limited else ()
    who = Who(name, role, address, "token", "s", "i", grants)
    trust = GroupTrust("g", SHARED)
    assert trust.read("PUT", "/x?y", trust.pass_on("PUT", "/x?y", b"{}", who)) == who
    assert GroupTrust("h", SHARED).read("PUT", "/x?y", trust.pass_on("PUT", "/x?y", b"{}", who)) is None
    late = GroupTrust("g", SHARED, now=lambda: time.time() + 120)
    assert late.read("PUT", "/x?y", trust.pass_on("PUT", "/x?y", b"{}", who)) is None


@given(NAMES, NAMES)
def test_a_leader_is_believed_by_its_signature_or_its_address(instance: str, url: str):
    def believed(
        group: str = "g", secret: Secret | None = SHARED, urls: tuple[str, ...] = (), signed: bool = True
    ) -> bool:
        record: Record = GroupState("g").leader_record(Leader(instance, url))
        if signed:
            (record,) = RecordSignatures("g", SHARED).sign(GroupState("g"), [record])
        state = GroupState("g", prove=RecordSignatures(group, secret).proof).take(*record)
        return GroupTrust(group, secret, urls).believes(state)

    assert believed()
    assert not believed(signed=False)
    assert not believed(secret=None)
    assert not believed(secret=Secret("other"))
    assert not believed(group="h")
    assert believed(secret=None, urls=(url,))
    assert believed(urls=(url,), signed=False)
