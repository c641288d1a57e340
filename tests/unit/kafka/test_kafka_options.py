"""What the user wrote about a cluster, as librdkafka must be told; and what it answers, as we say it."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from twinlog.config.security.secrets import Secret
from twinlog.config.settings import ClientSettings, Kerberos, Security
from twinlog.errors import (
    AccessDenied,
    BrokerRefused,
    ClusterError,
    ClusterUnreachable,
    ConfigRefused,
    PartitionsExist,
    TopicExists,
    TopicUnknown,
)
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import denies_access, translated
from twinlog.model.topics.configs import named_config


def options(security: Security, request_timeout_ms: int = 30_000) -> dict[str, object]:
    settings = ClientSettings(
        cluster="A",
        bootstrap_servers=("one:9092", "two:9092"),
        security=security,
        request_timeout_ms=request_timeout_ms,
    )
    return dict(client_options(settings))


def test_a_plain_cluster_needs_no_security_options() -> None:
    found = options(Security())

    assert found["bootstrap.servers"] == "one:9092,two:9092"
    assert found["security.protocol"] == "PLAINTEXT"
    assert not [name for name in found if name.startswith(("ssl.", "sasl."))]


def test_a_secure_cluster_gets_login_and_certificates_as_text() -> None:
    found = options(
        Security(
            protocol="SASL_SSL",
            sasl_mechanism="SCRAM-SHA-512",
            username="twin",
            password=Secret("pass"),
            ca_pem="CA",
            client_chain_pem="CHAIN",
            client_key_pem=Secret("KEY"),
            client_key_password=Secret("keypass"),
            verify_hostname=False,
        )
    )

    expected = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "twin",
        "sasl.password": "pass",
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CHAIN",
        "ssl.key.pem": "KEY",
        "ssl.key.password": "keypass",
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("keytab", [None, "/etc/a.keytab"])
def test_no_shell_is_asked_for_a_kerberos_ticket(keytab: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client library would give the principal to a shell, as a part of its command line."""
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "/etc/a.keytab")
    monkeypatch.setattr("twinlog.config.security.kerberos_identity._claimed", {})
    kerberos = Kerberos(service="kafka", principal="a@EXAMPLE", keytab=keytab)
    found = options(Security(protocol="SASL_SSL", sasl_mechanism="GSSAPI", kerberos=kerberos))
    assert found["sasl.kerberos.min.time.before.relogin"] == 0, "no command is run, not even at the start"
    assert found["sasl.kerberos.kinit.cmd"] == "true", "an empty one is the default one, with the principal in it"


@pytest.mark.parametrize(("asked", "given"), [(1, 10), (2_000, 2_000), (900_000, 300_000)])
def test_a_request_timeout_stays_within_what_the_client_takes(asked: int, given: int) -> None:
    assert options(Security(), asked)["socket.timeout.ms"] == given


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (KafkaError._TIMED_OUT, ClusterUnreachable),
        (KafkaError._TRANSPORT, ClusterUnreachable),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AccessDenied),
        (KafkaError.SASL_AUTHENTICATION_FAILED, AccessDenied),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicUnknown),
        (KafkaError.TOPIC_ALREADY_EXISTS, TopicExists),
        (KafkaError.INVALID_PARTITIONS, PartitionsExist),
        (KafkaError.INVALID_CONFIG, ConfigRefused),
        (KafkaError.POLICY_VIOLATION, BrokerRefused),
    ],
)
def test_a_code_has_one_meaning(code: int, meaning: type[ClusterError]) -> None:
    error = translated("A", KafkaError(code, "because"))

    assert type(error) is meaning
    assert error.cluster == "A"
    assert "because" in str(error)


@pytest.mark.proves("R14")
def test_a_timeout_tells_the_true_cause() -> None:
    timeout = KafkaError(KafkaError._TIMED_OUT, "timed out")
    wrong_password = KafkaError(KafkaError._AUTHENTICATION, "wrong password")
    no_dns = KafkaError(KafkaError._RESOLVE, "no such host")

    assert denies_access(wrong_password)
    assert str(translated("A", timeout, wrong_password)) == "A: access denied: wrong password"
    assert str(translated("A", timeout, no_dns)) == "A: no broker answers: no such host"
    no_token = KafkaError(KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: refused")
    assert denies_access(no_token)
    assert str(translated("A", timeout, no_token)) == "A: no token: refused"
    assert isinstance(translated("A", no_token), ClusterUnreachable), "we wait for it as for a broker"


def test_a_complaint_in_the_background_does_not_cover_a_real_answer() -> None:
    exists = KafkaError(KafkaError.TOPIC_ALREADY_EXISTS, "exists")

    assert type(translated("A", exists, KafkaError(KafkaError._TRANSPORT, "one broker down"))) is TopicExists


@pytest.mark.parametrize(
    ("sentence", "config"),
    [
        ("Unknown topic config name: retention.mss", "retention.mss"),
        ("Invalid value -4 for configuration segment.bytes: Value must be at least 1048576", "segment.bytes"),
        ("Tiered Storage functionality is disabled in the broker.", None),
        ("Unknown topic config name: segment.bytes.other", None),
    ],
)
def test_the_config_a_broker_complains_about_is_found(sentence: str, config: str | None) -> None:
    assert named_config(sentence, {"retention.mss", "segment.bytes", "segment.ms"}) == config
