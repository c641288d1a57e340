"""A registry in a links file: its cluster, its keys, its aliases."""

from __future__ import annotations

import pytest

from twinlog.config.registry_beside import registry_beside
from twinlog.config.registry_settings import RegistrySettings
from twinlog.config.resolve import resolve
from twinlog.errors import SettingsInvalid

HEAD = """
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
B.security.protocol = SASL_PLAINTEXT
B.sasl.mechanism = PLAIN
B.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";
A->B.enabled = true
"""


def beside(text: str) -> RegistrySettings | None:
    return registry_beside(resolve((HEAD + text).encode(), "f", (), {}))


def test_a_file_without_listeners_serves_no_schemas() -> None:
    assert beside("") is None


def test_the_registry_serves_the_target_of_the_first_link_with_its_login() -> None:
    found = beside("registry.listeners = http://127.0.0.1:8081\nregistry.topic = _s\n")
    assert found is not None
    assert found.kafka.bootstrap_servers == ("b:1",)
    assert found.kafka.security.username == "u"
    assert found.listeners[0].port == 8081
    assert found.topic == "_s"
    assert found.subject_prefixes == ("A.",)


def test_another_cluster_and_any_key_of_the_server_can_be_named() -> None:
    text = (
        "registry.listeners = http://:8082\nregistry.cluster = A\nregistry.server.schema.compatibility.level = FULL\n"
    )
    found = beside(text)
    assert found is not None
    assert found.kafka.bootstrap_servers == ("a:1",)
    assert found.level == "FULL"
    assert found.subject_prefixes == ()


def test_a_wrong_value_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="compatibility"):
        beside("registry.listeners = http://:8082\nregistry.server.schema.compatibility.level = SOME\n")


def test_no_key_of_the_registry_is_reported_as_unknown() -> None:
    text = (
        "registry.listeners = http://:8082\nregistry.cluster = A\nregistry.server.host.name = x\nregistry.gate.ms = 5\n"
    )
    found = resolve((HEAD + text).encode(), "f", (), {}).findings
    assert [one for one in found if "registry" in (one.key or "")] == []
