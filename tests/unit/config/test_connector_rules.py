"""What somebody who may use the HTTP interface gets out of the host, or into it, by a connector's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.basic_login import basic
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.connector_configs import PLAIN, SECRET, SOURCE, login, mirror, put
from tests.kit.declared_providers import FILES, FOLDERS, STORE, VARIABLES, Host

from twinlog.config.security.secrets import Secret
from twinlog.config.text.catalogue import CATALOGUE

REPLICATOR = "io.confluent.connect.replicator.ReplicatorSourceConnector"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab='{}' principal='{}';"
CLIENT_PREFIXES = ("", "source.cluster.", "target.cluster.", "consumer.", "producer.override.", "admin.")
EVERY_KEY = sorted(
    {"name", "connector.class", "source.cluster.alias", "target.cluster.alias", "clusters", "redirects.p.command"}
    | {prefix + key.name for key in CATALOGUE for prefix in CLIENT_PREFIXES if not key.name.endswith("*")}
)


def checked(client: TestClient, config: dict[str, str], **headers: Any) -> Any:
    kind = "ReplicatorSource" if config["connector.class"] == REPLICATOR else "MirrorSource"
    return client.put(f"/connector-plugins/{kind}/config/validate", json=config, **headers)


def errors(answer: Any) -> str:
    return "\n".join(error for one in answer.json()["configs"] for error in one["value"]["errors"])


@pytest.mark.proves("R12")
@pytest.mark.parametrize("declared", [False, True], ids=["no provider", "declared providers"])
def test_a_reference_in_any_key_never_shows_what_it_leads_to(tmp_path: Path, declared: bool):
    host = Host(tmp_path, declared=declared)
    answers: list[Any] = []

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from(EVERY_KEY),
        st.sampled_from(host.references),
        st.sampled_from(["otto", "anna"]),
        st.sampled_from(["{}", "x-{}", "{},b", "{}["]),
        st.booleans(),
    )
    def ask(key: str, reference: str, name: str, shape: str, logs_in: bool) -> None:
        config = mirror(**(login() if logs_in else {}), **{"target.cluster.ssl.truststore.location": "/nowhere"})
        config["source.cluster.sasl.jaas.config"] = PLAIN.format("other")
        if not logs_in:  # what is missing is told with the names of the clusters
            del config["source.cluster.bootstrap.servers"]
        config[key] = shape.format(reference)
        if config["connector.class"] == SOURCE:
            answers.append(checked(client, config, headers=basic(name)))
        answers.append(put(client, config, headers=basic(name)))
        seen = (client.get(path, headers=basic("vera")) for path in ("/connectors?expand=status", "/connectors/c"))
        answers.extend(seen)
        answers.append(client.delete("/connectors/c", headers=basic("anna")))

    with asked(host.service) as client:
        ask()
        for key in ("source.cluster.alias", "target.cluster.alias", "clusters", "name", "topics"):
            for reference in host.references:
                config = mirror(**{key: reference})
                del config["source.cluster.bootstrap.servers"]
                answers.append(checked(client, config, headers=basic("otto")))
                answers.append(checked(client, config, headers=basic("anna")))
                answers.append(put(client, config, headers=basic("anna")))
    assert any(answer.status_code == 200 for answer in answers)
    shown = "".join(answer.text for answer in answers) + b"".join(host.service.topic.audited).decode()
    assert SECRET not in shown


@pytest.mark.parametrize("key", ["name", "connector.class", "source.cluster.alias", "target.cluster.alias"])
def test_a_name_is_written_out(tmp_path: Path, key: str):
    host = Host(tmp_path, declared=True)
    with asked(host.service) as client:
        answer = client.post("/connectors", json={"name": "c", "config": mirror(**{key: "${env:SECRET}"})},
                             headers=basic("anna"))  # fmt: skip
        assert answer.status_code == 400, answer.text
        assert SECRET not in answer.text


def test_an_operator_learns_nothing_about_files_by_validating(tmp_path: Path):
    host = Host(tmp_path, declared=True)
    there, absent = f"${{file:{tmp_path}/vault.properties:password}}", f"${{file:{tmp_path}/none:password}}"
    with asked(host.service) as client:
        answers = [
            errors(checked(client, mirror(**{"tasks.max": value}), headers=basic("otto"))) for value in (there, absent)
        ]
        assert answers[0] == answers[1]
        stores = [
            errors(checked(client, mirror(**{"source.cluster.security.protocol": "SSL",
                   "source.cluster.ssl.truststore.type": "PEM",
                   "source.cluster.ssl.truststore.location": str(path)}), headers=basic("otto")))
            for path in (tmp_path / "whole", tmp_path / "none")
        ]  # fmt: skip
        assert stores == ["", ""]
        assert "no such key" in errors(
            checked(client, mirror(topics=there.replace(":password", ":nope")), headers=basic("anna"))
        )


def test_connectors_have_no_config_providers_unless_the_service_declares_them(tmp_path: Path):
    host = Host(tmp_path, declared=False)
    with asked(host.service) as client:
        for reference in host.references:
            answer = put(client, mirror(**{"source.cluster.client.id": reference}), headers=basic("anna"))
            assert answer.status_code == 400, answer.text
            assert "config.providers" in answer.text


def test_declared_providers_keep_to_their_paths_and_names(tmp_path: Path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "vault.properties").write_text(f"password = {SECRET}\n")
    (inside / "link.properties").symlink_to(outside / "vault.properties")
    (inside / "good.properties").write_text("password = good-1234\n")
    text = (
        f"{STORE}config.providers = file, dir, env, loose\n"
        f"config.providers.file.class = {FILES}\nconfig.providers.file.param.allowed.paths = {inside}\n"
        f"config.providers.dir.class = {FOLDERS}\nconfig.providers.dir.param.allowed.paths = {inside}\n"
        f"config.providers.env.class = {VARIABLES}\nconfig.providers.env.param.allowlist.pattern = LINK_.*\n"
        f"config.providers.loose.class = {FILES}\n"
    )
    environment = {"SECRET": SECRET, "LINK_PASSWORD": "good-1234"}
    service = PaperService(PaperTopic(), text=text, environment=environment)
    with asked(service) as client:
        for reference in (f"${{file:{inside}/good.properties:password}}", "${env:LINK_PASSWORD}"):
            answer = put(client, mirror(**login(**{"source.cluster.sasl.jaas.config": PLAIN.format(reference)})))
            assert answer.status_code in {200, 201}, answer.text
            link = service.settings("c")
            assert link.clients.source_consumer.security.password == Secret("good-1234")
        for reference in (
            f"${{file:{outside}/vault.properties:password}}",
            f"${{file:{inside}/../outside/vault.properties:password}}",
            f"${{file:{inside}/link.properties:password}}",
            f"${{dir:{outside}:vault.properties}}",
            f"${{dir:{inside}:link.properties}}",
            "${env:SECRET}",
            f"${{loose:{inside}/good.properties:password}}",
        ):
            answer = put(client, mirror(**{"client.id": reference, "source.cluster.client.id": reference}))
            assert answer.status_code == 400, f"{reference}: {answer.text}"
            assert SECRET not in answer.text


@pytest.mark.proves("R12")
@pytest.mark.parametrize(
    "change",
    [
        {"source.cluster.bootstrap.servers": "attacker.example:9092"},
        {"source.consumer.bootstrap.servers": "attacker.example:9092"},
        {"source.cluster.security.protocol": "SASL_PLAINTEXT"},
        {"source.admin.security.protocol": "SASL_PLAINTEXT"},
        {"source.cluster.sasl.mechanism": "SCRAM-SHA-512"},
        {"source.cluster.ssl.endpoint.identification.algorithm": ""},
        {"bootstrap.servers": "attacker.example:9092"},
    ],
    ids=str,
)
def test_a_kept_secret_does_not_go_elsewhere(change: dict[str, str]):
    service = PaperService(PaperTopic())
    with asked(service) as client:
        assert put(client, mirror(**login())).status_code == 201
        answer = client.patch("/connectors/c/config", json=change)
        assert answer.status_code == 400, answer.text
        assert "source.cluster.sasl.jaas.config" in answer.text
        shown = client.get("/connectors/c/config").json()
        assert put(client, {**shown, **change}).status_code == 400
        assert service.topic.group_state.configs["c"] == {**mirror(**login()), "name": "c"}


def test_a_secret_that_is_sent_again_may_go_elsewhere_and_other_changes_keep_it():
    service = PaperService(PaperTopic())
    with asked(service) as client:
        put(client, mirror(**login()))
        assert client.patch("/connectors/c/config", json={"topics": "orders"}).status_code == 200
        moved = {"target.cluster.bootstrap.servers": "elsewhere:9092"}
        assert client.patch("/connectors/c/config", json=moved).status_code == 200, "no secret goes to the target"
        moved = {"source.cluster.bootstrap.servers": "elsewhere:9092"}
        again = {"source.cluster.sasl.jaas.config": PLAIN.format("other")}
        assert client.patch("/connectors/c/config", json={**moved, **again}).status_code == 200
        assert service.settings("c").clients.source_admin.bootstrap_servers == ("elsewhere:9092",)


FORBIDDEN = (
    "clusters", "redirects", "redirects.p.type", "redirects.p.command", "switch.fence", "switch.tail.topic",
    "config.providers", "config.providers.v.class", "http.users.file", "http.audit.file", "store.bootstrap.servers",
    "group.id", "otel.endpoint",
)  # fmt: skip


@pytest.mark.parametrize("key", FORBIDDEN)
@pytest.mark.parametrize("kind", [SOURCE, REPLICATOR])
def test_a_connector_says_nothing_about_the_service_or_the_switch(key: str, kind: str):
    replicator = {"src.kafka.bootstrap.servers": "a:1", "dest.kafka.bootstrap.servers": "b:1", "topic.whitelist": "o"}
    config = mirror() if kind == SOURCE else {"name": "c", "connector.class": REPLICATOR, **replicator}
    with asked(PaperService(PaperTopic())) as client:
        answer = put(client, {**config, key: "A, B"})
        assert answer.status_code == 400, answer.text
        assert key in answer.text
        assert "settings file" in answer.text
        assert "settings file" in errors(checked(client, {**config, key: "A, B"}))


def test_a_pattern_that_java_refuses_is_an_error_of_its_key():
    replicator = {"src.kafka.bootstrap.servers": "a:1", "dest.kafka.bootstrap.servers": "b:1", "topic.whitelist": "o"}
    config = {"name": "c", "connector.class": REPLICATOR, **replicator, "topic.blacklist": "a["}
    with asked(PaperService(PaperTopic())) as client:
        found = checked(client, config)
        assert found.status_code == 200, found.text
        assert "topic.blacklist" in [one["value"]["name"] for one in found.json()["configs"] if one["value"]["errors"]]
        assert put(client, config).status_code == 400


def test_a_planted_record_stops_itself_alone():
    service = PaperService(PaperTopic())
    planted = {
        "bad-regex": {"connector.class": REPLICATOR, "src.kafka.bootstrap.servers": "a:1",
                      "dest.kafka.bootstrap.servers": "b:1", "topic.whitelist": "o", "topic.blacklist": "a["},
        "thief": mirror(**{"source.cluster.alias": "T", "source.cluster.client.id": "${env:SECRET}"}),
        "hook": mirror(**{"source.cluster.alias": "H", "redirects": "p", "redirects.p.type": "command"}),
        "clusters": mirror(clusters="A, B"),
    }  # fmt: skip
    with asked(service) as client:
        assert put(client, mirror(**{"source.cluster.alias": "Good"})).status_code == 201
        for name, config in planted.items():
            service.topic.plant(*service.topic.group_state.config_record(name, config))
        assert client.put("/connectors/c/pause").status_code == 202
        assert client.put("/connectors/c/resume").status_code == 202
        for name in planted:
            assert client.get(f"/connectors/{name}/status").json()["connector"]["state"] == "FAILED", name
        assert client.get("/connectors/c/status").json()["connector"]["state"] == "RUNNING"
        assert set(service.control.planning.plan.specs) == {"Good->B"}


@pytest.mark.parametrize("principal", ["x; touch /tmp/pwned #", "$(id)", "`id`", "a b", "a|b", "-x"])
def test_a_kerberos_principal_is_no_command(principal: str, tmp_path: Path):
    (tmp_path / "keytab").touch()
    text = f"{STORE}connector.kerberos.enabled = true\n"
    kerberos = {
        "source.cluster.security.protocol": "SASL_SSL",
        "source.cluster.sasl.mechanism": "GSSAPI",
        "source.cluster.sasl.kerberos.service.name": "kafka",
    }
    with asked(PaperService(PaperTopic(), text=text)) as client:
        good = KERBEROS.format(tmp_path / "keytab", "twinlog/host.example@EXAMPLE.COM")
        jaas = "source.cluster.sasl.jaas.config"
        assert put(client, mirror(**kerberos, **{jaas: good})).status_code == 201
        answer = put(client, mirror(**kerberos, **{jaas: KERBEROS.format(tmp_path / "keytab", principal)}))
        assert answer.status_code == 400, answer.text
        for keytab in ('/etc/a"b', "/etc/$(id)", "relative", f"{tmp_path}/`id`"):
            answer = put(client, mirror(**kerberos, **{jaas: KERBEROS.format(keytab, "twinlog")}))
            assert answer.status_code == 400, answer.text


def test_kerberos_logins_are_not_made_over_http_unless_the_service_allows_them(tmp_path: Path):
    (tmp_path / "keytab").touch()
    config = mirror(**{
        "source.cluster.security.protocol": "SASL_SSL",
        "source.cluster.sasl.mechanism": "GSSAPI",
        "source.cluster.sasl.kerberos.service.name": "kafka",
        "source.cluster.sasl.jaas.config": KERBEROS.format(tmp_path / "keytab", "twinlog"),
    })  # fmt: skip
    with asked(PaperService(PaperTopic(), text=STORE)) as client:
        answer = put(client, config)
        assert answer.status_code == 400
        assert "connector.kerberos.enabled" in answer.text


def test_a_connector_connects_where_the_service_allows_it():
    text = f"{STORE}connector.allowed.hosts = *.corp.example, b\n"
    with asked(PaperService(PaperTopic(), text=text)) as client:
        good = {"source.cluster.bootstrap.servers": "k1.corp.example:9092,k2.corp.example:9092"}
        assert put(client, mirror(**good)).status_code == 201
        for servers in ("evil.example:9092", "k1.corp.example:9092,evil.example:1", "xcorp.example:1"):
            answer = put(client, mirror(**{"source.cluster.bootstrap.servers": servers}))
            assert answer.status_code == 400, answer.text
            assert "connector.allowed.hosts" in answer.text
    with asked(PaperService(PaperTopic(), text=STORE)) as client:
        for servers in ("169.254.169.254:80", "[fe80::1]:9092"):
            assert put(client, mirror(**{"source.cluster.bootstrap.servers": servers})).status_code == 400


def oauth(url: str) -> dict[str, str]:
    return mirror(**{
        "source.cluster.security.protocol": "SASL_SSL",
        "source.cluster.sasl.mechanism": "OAUTHBEARER",
        "source.cluster.sasl.oauthbearer.token.endpoint.url": url,
        "source.cluster.sasl.oauthbearer.client.credentials.client.id": "i",
        "source.cluster.sasl.oauthbearer.client.credentials.client.secret": "s",
    })  # fmt: skip


def test_tokens_are_asked_for_at_listed_addresses_only():
    with asked(PaperService(PaperTopic(), text=STORE)) as client:
        answer = put(client, oauth("https://idp.example/token"))
        assert answer.status_code == 400
        assert "sasl.oauthbearer.allowed.urls" in answer.text
    text = f"{STORE}sasl.oauthbearer.allowed.urls = https://idp.example/token\n"
    with asked(PaperService(PaperTopic(), text=text)) as client:
        assert put(client, oauth("https://idp.example/token")).status_code == 201
        assert put(client, oauth("https://idp.example.evil/token")).status_code == 400
        assert put(client, oauth("https://idp.example/token2")).status_code == 400
        assert put(client, oauth("http://idp.example/token")).status_code == 400
    text = f"{STORE}sasl.oauthbearer.allowed.urls = http://idp.example/token\n"
    with asked(PaperService(PaperTopic(), text=text)) as client:
        assert put(client, oauth("http://idp.example/token")).status_code == 201, "listed in full, with its scheme"


@pytest.mark.parametrize(
    ("policy", "allowed", "refused"),
    [
        ("None", {}, login()),
        ("Principal", login(), {"consumer.fetch.min.bytes": "7"}),
        ("Allowlist\nconnector.client.config.override.allowlist = client.id",
         {"source.cluster.client.id": "x"}, {"source.cluster.security.protocol": "SSL"}),
        ("All", {**login(), "consumer.fetch.min.bytes": "7"}, None),
    ],
    ids=["None", "Principal", "Allowlist", "All"],
)  # fmt: skip
def test_the_policy_says_which_client_settings_a_connector_may_have(
    policy: str, allowed: dict[str, str], refused: dict[str, str] | None
):
    text = f"{STORE}connector.client.config.override.policy = {policy}\n"
    with asked(PaperService(PaperTopic(), text=text)) as client:
        answer = put(client, mirror(**allowed))
        assert answer.status_code == 201, answer.text
        if refused is not None:
            answer = put(client, mirror(**refused))
            assert answer.status_code == 400, answer.text
            assert "connector.client.config.override.policy" in answer.text


def test_a_settings_file_needs_no_declaration(tmp_path: Path):
    """It is its owner's, as with MirrorMaker 2."""
    (tmp_path / "vault.properties").write_text(f"password = {SECRET}\n")
    jaas = PLAIN.format(f"${{file:{tmp_path}/vault.properties:password}}")
    service = PaperService(
        PaperTopic(),
        text="clusters = A, B\nbootstrap.servers = k:9092\nA->B.enabled = true\nsecurity.protocol = SASL_SSL\n"
        f"sasl.mechanism = PLAIN\nsasl.jaas.config = {jaas}\n",
    )
    assert service.file is not None
    (link,) = service.file.links
    assert link.clients.source_admin.security.password == Secret(SECRET)
