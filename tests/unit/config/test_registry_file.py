"""Confluent's own example file starts a registry, and one wrong key hides no other one."""

from __future__ import annotations

import pytest

from twinlog.config.foreign.schema_registry import resolve_registry
from twinlog.errors import SettingsInvalid

EXAMPLE = b"""
listeners=http://0.0.0.0:8081
kafkastore.bootstrap.servers=PLAINTEXT://localhost:9092
kafkastore.topic=_schemas
debug=false
metadata.encoder.secret=REPLACE_ME_WITH_HIGH_ENTROPY_STRING
resource.extension.class=io.confluent.dekregistry.DekRegistryResourceExtension
"""


def test_the_example_of_confluent_8_starts() -> None:
    settings, findings = resolve_registry(EXAMPLE, "schema-registry.properties", {})
    assert settings.encrypts
    assert {finding.key: finding.level for finding in findings} == {
        "debug": "info",
        "metadata.encoder.secret": "warning",
        "resource.extension.class": "info",
    }
    assert "REPLACE_ME" not in str(findings)


def test_a_listener_that_is_wrong_makes_no_other_key_unknown() -> None:
    wrong = EXAMPLE + b"inter.instance.protocol=https\nhost.name=r1\nschema.compatibility.level=bogus\n"
    with pytest.raises(SettingsInvalid) as raised:
        resolve_registry(wrong, "schema-registry.properties", {})
    assert "no listener speaks https" in str(raised.value)
    assert "bogus is not valid" in str(raised.value)
    assert "unknown" not in str(raised.value.findings)
