"""What a config provider filled in is shown nowhere: by no kind of connector, in no key, to nobody (R12)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import pytest
from fastapi.testclient import TestClient
from tests.kit.basic_login import basic
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.connector_configs import SECRET, mirror
from tests.kit.declared_providers import Host, sample_config
from tests.kit.waiting import wait_until

from twinlog.config.text.provided import Provided
from twinlog.control.kind import Kind
from twinlog.control.kinds import all_kinds, plan_all
from twinlog.model.connectors import Connector
from twinlog.pipelines import validate
from twinlog.pipelines.progress import Progress
from twinlog.pipelines.settings import Finding as Remark

FAMILIES: Final = (
    "transforms", "transforms.a.type", "transforms.a.predicate", "transforms.a.spec", "predicates", "predicates.p.type",
    "key.converter", "value.converter", "value.converter.schema.registry.url", "value.converter.schemas.enable",
    "topic.creation.default.partitions", "consumer.override.auto.offset.reset", "no.such.key",
)  # fmt: skip
STEP: Final = {
    "transforms": "a",
    "transforms.a.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.a.spec": "x:int32",
}


def keys_of(kind: Kind) -> list[str]:
    return sorted({one.name for one in kind.definitions()} | set(FAMILIES))


@pytest.mark.proves("R12")
@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.class_name.rpartition(".")[2])
def test_no_key_of_any_kind_shows_what_a_reference_leads_to(kind: Kind, tmp_path: Path):
    host = Host(tmp_path, declared=True)
    grounds, spoke = host.grounds, 0
    for number, key in enumerate(keys_of(kind)):
        reference = host.references[number % len(host.references)]
        for shape in ("{}", "x-{}["):
            connector = Connector("c", {**sample_config(kind), **STEP, key: shape.format(reference)})
            part = plan_all(None, [connector], lambda _: "STARTED", grounds)
            said = [*map(str, kind.check(connector, grounds)), *(why for one in part for why in one.troubles.values())]
            spoke += len(said)
            for text in said:
                assert SECRET.lower() not in text.lower(), f"{key} = {shape}"
                assert "second line" not in text, f"{key} = {shape}"
    assert spoke, "nothing was ever wrong: the test would not see a leak"


@pytest.mark.proves("R12")
def test_what_the_other_system_quotes_is_masked_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A server may send back what it was asked with."""
    grounds = Host(tmp_path, declared=True).grounds
    monkeypatch.setattr(
        validate,
        "checked",
        lambda config: [Remark(key, f"no: {value!r}", remedy=value) for key, value in config.items()],
    )
    for kind in all_kinds():
        if kind.role != "pipeline":
            continue
        config = {**sample_config(kind), "errors.deadletterqueue.topic.name": f"${{dir:{tmp_path}:whole}}"}
        said = [str(one) for one in kind.try_out(Connector("c", config), grounds)]
        assert said, kind.class_name
        assert not [text for text in said if SECRET in text]


def everything_shown(client: TestClient) -> str:
    paths = (
        "/connectors?expand=status&expand=info", "/connectors/c", "/connectors/c/status", "/connectors/c/config",
        "/connectors/c/tasks", "/connectors/c/tasks/0/status", "/connectors/c/topics", "/connectors/c/offsets",
        "/v1/pipelines", "/v1/pipelines/c", "/metrics", "/pipelines", "/pipelines/c", "/",
    )  # fmt: skip
    answers = [client.get(path, headers=basic("vera")) for path in paths]
    return "\n".join(answer.text for answer in answers)


@pytest.mark.proves("R12")
@pytest.mark.parametrize("key", ["tasks.max", "transforms"])
def test_a_file_that_changes_later_is_not_shown_to_a_viewer(key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    (tmp_path / "vault").write_text("1" if key == "tasks.max" else "")
    host = Host(tmp_path, declared=True, pages=True)
    config = {"connector.class": "FileStreamSink", "file": f"{tmp_path}/out", "topics": "t",
              key: f"${{dir:{tmp_path}:vault}}"}  # fmt: skip
    with asked(host.service) as client:
        made = client.put("/connectors/c/config", json=config, headers=basic("anna"))
        assert made.status_code == 201, made.text
        (tmp_path / "vault").write_text(SECRET)
        shown = everything_shown(client)
        host.service.control.leadership.due()
        wait_until(lambda: client.get("/connectors/c/status", headers=basic("vera")).json()["connector"]["state"],
                   lambda state: state == "FAILED", within_s=20, what="the plan that sees the new value")  # fmt: skip
        status = client.get("/connectors/c/status", headers=basic("vera")).text
        shown += everything_shown(client)
        shown += client.put("/connectors/c/config", json=config, headers=basic("anna")).text
        shown += client.put("/connector-plugins/FileStreamSink/config/validate", json={**config, "name": "c"},
                            headers=basic("anna")).text  # fmt: skip
        shown += client.get("/v1/audit", headers=basic("anna")).text
    assert "***" in status
    assert SECRET not in status + shown
    assert SECRET not in b"".join(host.service.topic.audited).decode()
    assert SECRET not in caplog.text


def test_what_a_running_pipeline_says_is_masked():
    progress = Progress(provided=Provided([SECRET]))
    progress.fail(f"http://h/{SECRET}: refused")
    progress.take({"task": 0, "waiting": f"{SECRET} is not there"})
    progress.take({"task": 1, "fault": {"topic": "t", "stage": "PUT", "exception": "E", "message": f"{SECRET}!"}})
    progress.take({"task": 1, "failed": [{"topic": "t", "stage": "PUT", "exception": "E", "message": f"{SECRET}!"}]})
    said = f"{progress.trace} {progress.hindrance} {progress.troubles()} {progress.faults} {progress.failed}"
    assert SECRET not in said
    assert "http://h/***: refused" in said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("back\\slash", repr("back\\slash")),
        ("MixedCase", "mixedcase: must be one of none, all"),
        ("https://u:pass9word@host/", "login of u with pass9word failed"),
        ("jdbc:x://h/d?user=u&password=pass9word", "pass9word"),
        ("two\nlines of text", repr("two\nlines of text")),
    ],
)
def test_a_value_is_masked_in_every_form_that_a_message_gives_it(value: str, said: str):
    shown = Provided([value]).masked(said)
    assert not [word for word in ("slash", "mixed", "pass9word", "lines") if word in shown.lower()]


def test_an_order_is_not_refused_for_a_connector_that_broke_by_itself(tmp_path: Path):
    """Its file changed since the last plan: that is no fault of another connector's order."""
    (tmp_path / "vault").write_text("1")
    host = Host(tmp_path, declared=True)
    first: dict[str, Any] = mirror(**{"tasks.max": f"${{dir:{tmp_path}:vault}}"})
    other = mirror(**{"source.cluster.alias": "X", "name": "other"})
    with asked(host.service) as client:
        assert client.put("/connectors/c/config", json=first, headers=basic("anna")).status_code == 201
        (tmp_path / "vault").write_text("nothing of the kind")
        answer = client.put("/connectors/other/config", json=other, headers=basic("anna"))
        assert answer.status_code == 201, answer.text
        wait_until(lambda: set(host.service.runner.links), lambda seen: seen == {"X->B"}, within_s=10, what="the link")


def test_an_order_that_breaks_another_connector_is_still_refused():
    plain = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
               "provenance.mode": "off"}  # fmt: skip
    with asked(PaperService(PaperTopic())) as client:
        assert client.put("/connectors/c/config", json=mirror(**plain)).status_code == 201
        back = mirror(**{"source.cluster.alias": "B", "target.cluster.alias": "A", "name": "back", **plain})
        answer = client.put("/connectors/back/config", json=back)
        assert answer.status_code == 400, answer.text
        assert "loop" in answer.text
