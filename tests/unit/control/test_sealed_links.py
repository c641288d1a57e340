"""What lies in the links topic when services share a secret: no password, and no connector that nobody of them made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.connector_configs import PLAIN, SECRET, login, mirror, put
from tests.kit.waiting import wait_until

from twinlog.config.security.masking import is_secret
from twinlog.config.security.secrets import Secret
from twinlog.config.service_settings import HttpSettings
from twinlog.control.record_signatures import RecordSignatures
from twinlog.control.sealing import Seal
from twinlog.model.connectors import GroupState

SHARED = Secret("a secret of the whole group")


def service(topic: PaperTopic, secret: Secret | None = SHARED, **more: Any) -> PaperService:
    return PaperService(topic, http=HttpSettings(group_secret=secret), **more)


def state(client: TestClient, name: str = "c") -> tuple[str, str]:
    found = client.get(f"/connectors/{name}/status").json()["connector"]
    return found["state"], found.get("trace", "")


def await_running(client: TestClient) -> None:
    wait_until(lambda: state(client)[0], lambda found: found == "RUNNING", within_s=20, what="the link")


@pytest.mark.proves("R12")
def test_no_password_of_a_connector_is_readable_in_the_topic():
    topic = PaperTopic()
    one = service(topic)
    with asked(one) as client:
        assert put(client, mirror(**login())).status_code == 201
        assert one.settings("c").clients.source_consumer.security.password == Secret(SECRET)
        assert client.patch("/connectors/c/config", json={"topics": "orders"}).status_code == 200
        assert one.settings("c").clients.source_consumer.security.password == Secret(SECRET), "kept, and opened again"
    with asked(service(topic, instance="two")) as client:
        await_running(client)  # the next service of the group reads it
    written = b"".join(value or b"" for _, value in topic.written)
    assert b"connector.class" in written
    assert SECRET.encode() not in written


@pytest.mark.proves("R12")
@pytest.mark.parametrize("secret", [None, Secret("another secret")], ids=["no secret", "another secret"])
def test_a_service_without_the_secret_runs_nothing_that_it_cannot_open(secret: Secret | None):
    topic = PaperTopic()
    with asked(service(topic)) as client:
        put(client, mirror(**login()))
    two = service(topic, secret, instance="two")
    with asked(two) as client:
        failed, why = state(client)
        assert failed == "FAILED"
        assert "http.group.secret" in why
        assert two.runner.links == {}
        shown = client.get("/connectors/c/config").json()
        assert put(client, shown).status_code == 400, "what could not be opened is no password"
        assert put(client, mirror(**login())).status_code == 200, "the way out"
        await_running(client)


def test_a_connector_that_nobody_of_the_group_signed_does_not_run():
    topic = PaperTopic()
    one = service(topic)
    with asked(one) as client:
        put(client, mirror(**login()))
        ((_, signed),) = [record for record in topic.written if record[0] == b"g/connector-c"]
        evil = mirror(**{"source.cluster.alias": "Evil", "name": "evil"})
        topic.plant(*topic.group_state.config_record("evil", evil))
        topic.plant(b"g/connector-copy", signed)  # the bytes of a good one, under another name
        assert client.put("/connectors/c/pause").status_code == 202
        assert client.put("/connectors/c/resume").status_code == 202
        for name in ("evil", "copy"):
            assert state(client, name)[0] == "FAILED", name
            assert "was not signed" in state(client, name)[1]
        await_running(client)
        assert set(one.runner.links) == {"A->B"}


def test_without_a_secret_that_passwords_lie_open_is_told(caplog: pytest.LogCaptureFixture):
    with asked(service(PaperTopic(), None)) as client:
        put(client, mirror())
        assert "can read its passwords" not in caplog.text
        put(client, mirror(**login()))
    assert "connector c: whoever may read __twinlog-links can read its passwords" in caplog.text
    assert SECRET not in caplog.text


KEYS = st.sampled_from(["topics", "source.cluster.sasl.jaas.config", "target.cluster.ssl.key.password", "x.secret"])
TEXTS = st.text(max_size=20) | st.sampled_from(["${env:X}", "sealed:v1:", "sealed:v1:AAAA", PLAIN.format("p"), "***"])


@given(st.dictionaries(KEYS, TEXTS), st.text(max_size=5))
def test_what_was_sealed_is_opened_as_it_was(config: dict[str, str], name: str):
    signatures = RecordSignatures("g", SHARED)
    seal, group_state = Seal("g", SHARED), GroupState("g", prove=signatures.proof)
    ((key, value),) = signatures.sign(group_state, [seal.record(group_state, name, config)])
    stored = json.loads(value or b"")["properties"]
    for one, text in config.items():
        sealed = stored[one].startswith("sealed:v1:") and stored[one] != text
        assert sealed == ((is_secret(one) and text not in {"", "${env:X}"}) or text.startswith("sealed:v1:")), one
    (opened,) = Seal("g", SHARED).opened(group_state.take(key, value))
    assert (dict(opened.connector.config), opened.trouble) == (config, None)
    elsewhere = GroupState("g", prove=RecordSignatures("h", SHARED).proof)
    (other,) = Seal("h", SHARED).opened(elsewhere.take(key, value))
    assert other.trouble is not None, "of another group"
