"""R12: plant secrets wherever a file can hold one, then look at everything that can be printed."""

import copy
import json
import logging
import pickle
import tempfile
import traceback
from pathlib import Path

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from javaproperties import dumps
from tests.kit.keymaterial import KeyMaterial
from typer.testing import CliRunner

from twinlog.config.resolve import Resolved, load_file
from twinlog.config.security.secrets import Secret
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.properties import parse_properties
from twinlog.errors import SettingsInvalid
from twinlog.surface.cli.commands.validate import validate

# With a mark of its own: hypothesis also tries words of our messages, which do appear in them.
SECRETS = st.text(
    alphabet="abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!$%&", min_size=12, max_size=20
).map(lambda text: f"9{text}")
MATERIAL = KeyMaterial.make()
app = typer.Typer()
app.command()(validate)


def outputs_of(path: Path) -> list[str]:
    """Everything that a process could print about the file: both faces, and whatever the library returns or raises."""
    found = [CliRunner().invoke(app, ["-c", str(path), *more]).output for more in ([], ["-o", "json"])]
    try:
        resolved = load_file(path)
    except SettingsInvalid as invalid:
        found += [str(invalid), repr(invalid), repr(invalid.facts()), invalid.remedy_text()]
        found += traceback.format_exception(invalid)
        return found
    return found + shown_by(resolved)


def shown_by(resolved: Resolved) -> list[str]:
    found = [repr(resolved), repr(dict(resolved.origins)), *map(str, resolved.findings)]
    for link in resolved.links:
        found += [str(link), repr(link), link.model_dump_json(), repr(link.model_dump())]
        found += [json.dumps(link.model_dump(), default=str), f"{link.clients.target_producer.security!s:>10}"]
        found += [repr(vars(link.clients.target_producer.security)), repr(list(link.clients.target_producer.security))]
    return found


def write(folder: Path, properties: dict[str, str]) -> Path:
    path = folder / "links.properties"
    path.write_text(dumps(properties, timestamp=None))
    return path


def base() -> dict[str, str]:
    servers = {"A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1"}
    return {"clusters": "A,B", "A->B.enabled": "true", **servers}


@pytest.mark.proves("R12")
@settings(max_examples=8, deadline=None)
@given(st.lists(SECRETS, min_size=5, max_size=5, unique=True))
def test_no_secret_of_a_good_file_is_shown_and_all_of_them_arrive(secrets):
    login, store, key_password, token, stray = secrets
    with tempfile.TemporaryDirectory() as folder:
        trust = Path(folder) / "trust.p12"
        trust.write_bytes(MATERIAL.truststore(store))
        (Path(folder) / "vault.properties").write_text(dumps({"token": token}, timestamp=None))
        reference = f"${{file:{folder}/vault.properties:token}}"
        key_pem = MATERIAL.key_pem(key_password)
        jaas = 'x.ScramLoginModule required username="mm" password="{}";'
        properties = base() | {
            "B.security.protocol": "SASL_SSL",
            "B.sasl.mechanism": "SCRAM-SHA-512",
            "B.sasl.jaas.config": jaas.format(login),
            "B.ssl.truststore.location": str(trust),
            "B.ssl.truststore.password": store,
            "B.ssl.keystore.type": "PEM",
            "B.ssl.keystore.key": key_pem,
            "B.ssl.keystore.certificate.chain": MATERIAL.chain_pem(),
            "B.ssl.key.password": key_password,
            "A.security.protocol": "SASL_PLAINTEXT",
            "A.sasl.mechanism": "SCRAM-SHA-256",
            "A.sasl.jaas.config": jaas.format(reference),
            # Where no secret belongs, but people put them: a misspelt key, and keys that nothing reads.
            "B.ssl.keystor.password": stray,
            "A.sasl.oauthbearer.client.credentials.client.secret": stray,
            "sasl.jaas.confg": stray,
        }
        path = write(Path(folder), properties)
        (link,) = load_file(path).links
        security = link.clients.target_producer.security
        assert security.password == Secret(login)
        assert security.client_key_password == Secret(key_password)
        assert link.clients.source_consumer.security.password == Secret(token)
        assert security.client_key_pem == Secret(key_pem)
        hidden = [*secrets, key_pem.splitlines()[2]]
        for output in outputs_of(path):
            assert output
            assert not [secret for secret in hidden if secret in output]


@pytest.mark.proves("R12")
@settings(max_examples=8, deadline=None)
@given(SECRETS)
def test_no_secret_of_a_wrong_file_is_shown(secret):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vault.properties").write_text(dumps({"token": secret}, timestamp=None))
        reference = f"${{file:{folder}/vault.properties:token}}"
        # Every key that can be read, filled from a provider with something it cannot take.
        wrong = {key.name: reference for key in CATALOGUE if not key.name.endswith("*") and key.name != "clusters"}
        secret_keys = {f"B.{key.name}": secret for key in CATALOGUE if key.secret and not key.name.endswith("*")}
        files = [
            base() | secret_keys | {"B.security.protocol": "SASL_SSL", "B.sasl.mechanism": "PLAIN"},
            base() | secret_keys | {"security.protocol": "SSL", "ssl.keystore.type": "PEM"},
            base() | wrong,
            base() | {f"A->B.{key}": value for key, value in wrong.items()},
            base() | {f"A.consumer.{key}": value for key, value in wrong.items()},
            base() | {"B.sasl.jaas.config": f'PlainLoginModule required username="u" password="{secret}',
                      "B.security.protocol": "SASL_PLAINTEXT", "B.sasl.mechanism": "PLAIN"},
        ]  # fmt: skip
        refused = 0
        for properties in files:
            path = write(Path(folder), properties)
            outputs = outputs_of(path)
            refused += any("error" in output for output in outputs)
            assert all(outputs)
            assert not [output for output in outputs if secret in output]
        assert refused == len(files)


@pytest.mark.proves("R12")
@given(SECRETS)
def test_a_secret_prints_as_stars_in_every_way_text_is_made(value):
    secret = Secret(value)
    record = logging.LogRecord("n", logging.INFO, "f", 1, "%s %r", (secret, secret), None)
    texts = [
        *(str(secret), repr(secret), f"{secret}", f"{secret!r:>40}", f"{secret:>40}", format(secret)),
        *("%s" % secret, repr([secret]), repr({"k": secret}), record.getMessage()),  # noqa: UP031 (that is the test)
        json.dumps({"k": secret}, default=str),
    ]
    for text in texts:
        assert "***" in text
        assert value not in text
    with pytest.raises(TypeError):
        json.dumps(secret)


@given(SECRETS, SECRETS)
def test_a_secret_keeps_its_value_over_pickling_and_does_not_change(value, other):
    secret = Secret(value)
    assert pickle.loads(pickle.dumps(secret)).reveal() == value  # noqa: S301 (our own bytes)
    assert copy.deepcopy(secret) == secret
    assert (secret == Secret(other)) is (value == other)
    assert len({secret, Secret(value)}) == 1
    with pytest.raises(AttributeError):
        secret._value = other


@pytest.mark.proves("R12")
def test_entries_of_a_file_do_not_show_values_in_their_repr():
    entries, _ = parse_properties(b"some.password = hunter2hunter2", "f")
    assert "hunter2" not in repr(entries)
