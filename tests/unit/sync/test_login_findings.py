"""What `twinlog validate` says of logins that this machine cannot do."""

from __future__ import annotations

import pytest

from twinlog.config.resolve import examine, resolve
from twinlog.config.security.kerberos_identity import claim_identity
from twinlog.config.settings import Kerberos, LinkSettings
from twinlog.errors import KerberosTaken
from twinlog.sync.answers.logins import login_findings

JAAS = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true;"
KERBEROS = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka", "sasl.jaas.config": JAAS}
PASSWORD = {
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'ScramLoginModule required username="me" password="secret";',
}


def link_into(login: dict[str, str]) -> LinkSettings:
    lines = ["clusters = A, B", "A.bootstrap.servers = a:1", "B.bootstrap.servers = b:1", "A->B.enabled = true"]
    lines += [f"B.{key} = {value}" for key, value in ({"security.protocol": "SASL_PLAINTEXT"} | login).items()]
    (link,) = resolve("\n".join(lines).encode(), "f", (), {}).links
    return link


@pytest.mark.proves("R14")
def test_a_login_without_its_libraries_is_told_once_with_all_that_is_missing_and_the_way_out() -> None:
    (finding,) = login_findings([link_into(KERBEROS)], "links.properties")
    assert (finding.level, finding.key) == ("warning", "B.sasl.mechanism")
    for words in ("SASL mechanism GSSAPI", "package gssapi", "pip install gssapi", "choose SCRAM"):
        assert words in finding.sentence


def test_logins_that_every_installation_can_do_are_not_spoken_of() -> None:
    assert login_findings([link_into(PASSWORD)], "links.properties") == []


def test_a_second_kerberos_identity_in_one_process_is_refused_and_not_mistaken_for_the_first(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "/etc/a.keytab")
    monkeypatch.setattr("twinlog.config.security.kerberos_identity._claimed", {})
    first = Kerberos(service="kafka", principal="a@EXAMPLE", keytab="/etc/a.keytab")
    claim_identity("A", first)
    claim_identity("B", first)
    nobody = Kerberos(service="kafka", principal=None, keytab=None)
    for other in (
        first.model_copy(update={"keytab": "/etc/b.keytab"}),
        first.model_copy(update={"principal": "b@E"}),
        nobody,  # the tickets of a user's cache would be those of the key tab
    ):
        with pytest.raises(KerberosTaken, match=r"a@EXAMPLE of /etc/a\.keytab"):
            claim_identity("B", other)


CLEAR = "clusters = A, B\nbootstrap.servers = k:1\nA->B.enabled = true\n"
LOGIN_TEXT = "sasl.jaas.config = PlainLoginModule required username=u password=p;\n"


OPEN_PASSWORD = f"security.protocol = SASL_PLAINTEXT\nsasl.mechanism = PLAIN\n{LOGIN_TEXT}"
ANY_BROKER = "security.protocol = SSL\nssl.endpoint.identification.algorithm =\n"
OPEN_SECRET = """security.protocol = SASL_SSL
sasl.mechanism = OAUTHBEARER
sasl.oauthbearer.token.endpoint.url = http://idp/token
sasl.oauthbearer.client.credentials.client.id = i
sasl.oauthbearer.client.credentials.client.secret = s
"""


@pytest.mark.parametrize(
    ("text", "key", "told"),
    [
        (OPEN_PASSWORD, "security.protocol", "the password"),
        (ANY_BROKER, "ssl.endpoint.identification.algorithm", "passes for every broker"),
        (
            f"{OPEN_SECRET}sasl.oauthbearer.allowed.urls = http://idp/token\n",
            "sasl.oauthbearer.token.endpoint.url",
            "clear text",
        ),
    ],
)
def test_what_travels_in_clear_text_is_a_warning(text: str, key: str, told: str):
    found = resolve(f"{CLEAR}{text}".encode(), "f", (), {}).findings
    assert [one.key for one in found if one.level == "warning" and told in one.sentence] == [key]


def test_a_secret_is_sent_for_a_token_over_tls_or_where_the_file_says_so():
    """What anybody on the way could read is refused; this machine is no way."""
    (told,) = [one for one in examine(f"{CLEAR}{OPEN_SECRET}".encode(), "f", (), {}).findings if one.level == "error"]
    assert told.key == "sasl.oauthbearer.token.endpoint.url"
    assert "sasl.oauthbearer.allowed.urls" in told.sentence
    for address in ("https://idp/token", "http://127.0.0.1:8080/token"):
        text = f"{CLEAR}{OPEN_SECRET.replace('http://idp/token', address)}"
        assert not examine(text.encode(), "f", (), {}).findings, address


def test_an_issuer_is_reached_over_https():
    for address in ("http://idp.example/realm", "https://idp.example/realm", "http://127.0.0.1:8080/realm"):
        found = examine(f"{CLEAR}http.oidc.issuer = {address}\n".encode(), "f", (), {}).findings
        assert any(one.level == "error" for one in found) == address.startswith("http://idp"), address
    allowed = f"{CLEAR}http.oidc.issuer = http://idp.example/realm\nhttp.tls.insecure = true\n"
    assert not examine(allowed.encode(), "f", (), {}).findings
