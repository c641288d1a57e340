import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.kit.keymaterial import KeyMaterial

from twinlog.config.resolve import resolve
from twinlog.config.security.jaas import read_login
from twinlog.config.settings import Kerberos, Security
from twinlog.config.text.values import ValueRefusedError
from twinlog.errors import SettingsInvalid

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def material() -> KeyMaterial:
    return KeyMaterial.make()


def security(more: dict[str, str]) -> Security:
    lines = ["clusters=A,B", "A.bootstrap.servers=a:1", "B.bootstrap.servers=b:1", "A->B.enabled=true"]
    escaped = (f"B.{key}={value.encode('unicode_escape').decode()}" for key, value in more.items())
    (link,) = resolve("\n".join([*lines, *escaped]).encode(), "f", (), {}).links
    assert link.clients.source_consumer.security == Security()
    assert link.clients.target_producer.security == link.clients.target_admin.security
    return link.clients.target_producer.security


def problem(more: dict[str, str]) -> str:
    with pytest.raises(SettingsInvalid) as invalid:
        security(more)
    (one,) = [finding for finding in invalid.value.findings if finding.level == "error"]
    return str(one)


def same_certificate(pem: str | None, material: KeyMaterial) -> bool:
    assert pem is not None
    return x509.load_pem_x509_certificate(pem.encode()) == material.certificate


def same_key(found: Security, material: KeyMaterial) -> bool:
    assert found.client_key_pem is not None
    password = found.client_key_password.reveal().encode() if found.client_key_password else None
    key = load_pem_private_key(found.client_key_pem.reveal().encode(), password)
    return key.public_key() == material.key.public_key()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_scram_login_is_read_from_jaas(mechanism):
    jaas = f'{SCRAM} required username="mm" password="p;\\"=\' x";'
    found = security({"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas})
    assert (found.protocol, found.sasl_mechanism, found.username) == ("SASL_PLAINTEXT", mechanism, "mm")
    assert found.password is not None


@pytest.mark.parametrize(
    ("text", "password"),
    [
        (f'{PLAIN} required username="u" password="p";', "p"),
        (f"{PLAIN} required username='u' password='p\"q' ;", 'p"q'),
        (f'{PLAIN} required\n  username="u"\n  password="a\\"b\\\\c=;";', 'a"b\\c=;'),
        (f"{PLAIN} required username=u password=p serviceName=kafka;", "p"),
    ],
)
def test_jaas_quotes_and_escapes_follow_java(text, password):
    login = read_login(text, "PLAIN")
    assert (login.username, login.password.reveal()) == ("u", password)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{PLAIN} required username="u" password="p"', "semicolon"),
        (f'{PLAIN} required username="u";', "no password"),
        (f'{PLAIN} username="u" password="p";', "required"),
        (f'{SCRAM} required username="u" password="p";', "does not fit"),
        (f'{PLAIN} required username="u" password="p;', "never closed"),
        (f'{PLAIN} required username "u" password="p";', 'name="value"'),
        ('com.acme.Login required username="u" password="p";', "allowed are"),
        ("", "semicolon"),
    ],
)
def test_a_jaas_text_that_is_wrong_is_refused(text, told):
    with pytest.raises(ValueRefusedError, match=told):
        read_login(text, "PLAIN")


@pytest.mark.parametrize(
    ("mechanism", "missing"),
    [
        (None, {"sasl.mechanism"}),
        ("PLAIN", {"sasl.jaas.config"}),
        ("GSSAPI", {"sasl.kerberos.service.name"}),
        ("OAUTHBEARER", {"sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.credentials.client.id",
                         "sasl.oauthbearer.client.credentials.client.secret"}),
    ],
)  # fmt: skip
def test_what_a_mechanism_needs_is_told(mechanism: str | None, missing: set[str]):
    with pytest.raises(SettingsInvalid) as invalid:
        security({"security.protocol": "SASL_SSL"} | ({"sasl.mechanism": mechanism} if mechanism else {}))
    told = {one.key for one in invalid.value.findings if one.level == "error"}
    assert told == {f"B.{key}" for key in missing}


def test_a_mechanism_of_nobody_is_an_error():
    jaas = f'{PLAIN} required username="u" password="p";'
    keys = {"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": jaas}
    with pytest.raises(SettingsInvalid, match="one of PLAIN"):
        security(keys)


URL = "https://login.example/token"
TOKENS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": URL}


def test_client_credentials_stand_in_jaas_or_in_keys_of_their_own():
    options = 'clientId="me" clientSecret="s3" scope="kafka" extension_tenant="t1"'
    by_jaas = security(TOKENS | {"sasl.jaas.config": f"{OAUTH} required {options};"}).tokens
    assert by_jaas is not None
    assert (by_jaas.token_url, by_jaas.client_id, by_jaas.client_secret.reveal()) == (URL, "me", "s3")
    assert (by_jaas.scope, by_jaas.extensions) == ("kafka", (("tenant", "t1"),))
    own = {"client.credentials.client.id": "me2", "client.credentials.client.secret": "s4", "scope": "other"}
    keys = TOKENS | {f"sasl.oauthbearer.{name}": value for name, value in own.items()}
    for more in ({}, {"sasl.jaas.config": f"{OAUTH} required {options};"}):
        found = security(keys | more).tokens
        assert found is not None
        assert (found.client_id, found.client_secret.reveal(), found.scope) == ("me2", "s4", "other")


def test_a_token_endpoint_is_an_address():
    keys = TOKENS | {"sasl.jaas.config": f'{OAUTH} required clientId="me" clientSecret="s";'}
    assert "https:// or http://" in problem(keys | {"sasl.oauthbearer.token.endpoint.url": "file:///token"})


def test_kerberos_is_read_from_its_login_module():
    module = "com.sun.security.auth.module.Krb5LoginModule required"
    keys = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    jaas = f'{module} useKeyTab=true keyTab="/etc/me.keytab" principal="me@EXAMPLE" serviceName=kafka;'
    found = security(keys | {"sasl.jaas.config": jaas}).kerberos
    assert found == Kerberos(service="kafka", principal="me@EXAMPLE", keytab="/etc/me.keytab")
    found = security(keys | {"sasl.kerberos.service.name": "k"}).kerberos
    assert found == Kerberos(service="k")


@pytest.mark.parametrize("kind", [None, "JKS", "PKCS12"])
def test_pkcs12_stores_become_pem(tmp_path: Path, material: KeyMaterial, kind: str | None):
    (tmp_path / "key.p12").write_bytes(material.keystore("kp"))
    (tmp_path / "trust.p12").write_bytes(material.truststore("tp"))
    types = {} if kind is None else {"ssl.keystore.type": kind, "ssl.truststore.type": kind}
    found = security(
        types
        | {
            "security.protocol": "SSL",
            "ssl.keystore.location": str(tmp_path / "key.p12"),
            "ssl.keystore.password": "kp",
            "ssl.truststore.location": str(tmp_path / "trust.p12"),
            "ssl.truststore.password": "tp",
        }
    )
    assert same_certificate(found.ca_pem, material)
    assert same_certificate(found.client_chain_pem, material)
    assert same_key(found, material)


@pytest.mark.parametrize("password", [None, "kp"])
def test_pem_files_are_read(tmp_path: Path, material: KeyMaterial, password: str | None):
    (tmp_path / "key.pem").write_text(material.key_pem(password) + material.chain_pem())
    (tmp_path / "ca.pem").write_text("a remark\n" + material.chain_pem() * 2)
    found = security(
        {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(tmp_path / "key.pem"),
            "ssl.key.password": "kp",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    assert found.ca_pem == material.chain_pem() * 2
    assert same_key(found, material)
    assert not found.verify_hostname
    ssl.create_default_context(cadata=found.ca_pem)


@pytest.mark.parametrize("line_end", ["\n", " "])
def test_pem_text_may_stand_in_the_file_even_on_one_line(material: KeyMaterial, line_end: str):
    found = security(
        {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": material.key_pem("kp").replace("\n", line_end),
            "ssl.keystore.certificate.chain": material.chain_pem().replace("\n", line_end),
            "ssl.key.password": "kp",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": material.chain_pem().replace("\n", line_end),
        }
    )
    assert found.ca_pem == material.chain_pem()
    assert same_certificate(found.client_chain_pem, material)
    assert same_key(found, material)


def test_without_tls_no_store_is_opened():
    assert security({"ssl.truststore.location": "/nowhere/trust.p12"}) == Security()


def test_what_is_wrong_with_a_store_is_told(tmp_path: Path, material: KeyMaterial):
    (tmp_path / "p12").write_bytes(material.truststore("tp"))
    (tmp_path / "jks").write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    (tmp_path / "jceks").write_bytes(b"\xce\xce\xce\xce\x00\x00\x00\x02")
    (tmp_path / "pem").write_text(material.chain_pem())
    (tmp_path / "junk").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

    def trust(name: str, **more: str) -> str:
        keys = {"security.protocol": "SSL", "ssl.truststore.location": str(tmp_path / name)}
        return problem(keys | {f"ssl.truststore.{key}": value for key, value in more.items()})

    assert "password is wrong" in trust("p12", password="no")
    assert "password is wrong, or the file is damaged" in trust("jks", password="x")
    assert "cut off" in trust("jks")
    assert "keytool -importkeystore" in trust("jceks", password="x")
    assert "the file is PEM" in trust("pem")
    assert "cannot be read (No such file" in trust("none")
    assert "certificate 1 of 1 cannot be read" in trust("junk", type="PEM")
    assert "ssl.truststore.type = PEM" in problem(
        {"security.protocol": "SSL", "ssl.truststore.certificates": material.chain_pem()}
    )
    inline = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.key": material.key_pem("kp")}
    chain = {"ssl.keystore.certificate.chain": material.chain_pem()}
    assert "ssl.key.password is not set" in problem(inline | chain)
    assert "does not open" in problem(inline | chain | {"ssl.key.password": "no"})
    assert "no certificate" in problem(inline | {"ssl.key.password": "kp"})
