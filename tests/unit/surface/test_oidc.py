"""Tokens of a live issuer: believed only when everything fits, with keys that come, go and are taken back."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.issuer import AUDIENCE, Issuer, issuer_running

from twinlog.config.service_settings import HttpSettings, OidcSettings

RULES = "twinlog.surface.http.oidc_issuer"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuer_running() as found:
        yield found


@pytest.fixture
def client(issuer: Issuer) -> Iterator[TestClient]:
    with asked(service_of(issuer)) as found:
        yield found


def service_of(issuer: Issuer, roles_claim: str = "roles") -> PaperService:
    oidc = OidcSettings(issuer=issuer.url, jwks_url=None, audience=AUDIENCE, roles_claim=roles_claim)
    return PaperService(PaperTopic(), http=HttpSettings(oidc=oidc))


def status(client: TestClient, token: str, method: str = "GET", path: str = "/connectors") -> int:
    return int(client.request(method, path, headers={"authorization": f"Bearer {token}"}).status_code)


def test_the_issuer_is_found_by_its_description_and_asked_once(client: TestClient, issuer: Issuer):
    assert [status(client, issuer.token()) for _ in range(3)] == [200, 200, 200]
    assert issuer.asked == ["openid-configuration", "keys"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "else"},
        {"aud": None},
        {"aud": ["else", "another"]},
        {"iss": "http://127.0.0.1:1/realms/ops"},
        {"iss": None},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"nbf": 32_503_680_000},
        {"sub": None},
        {"roles": []},
        {"roles": ["root"]},
        {"roles": None},
    ],
    ids=str,
)
def test_a_token_that_does_not_fit_opens_nothing(client: TestClient, issuer: Issuer, wrong: dict[str, Any]):
    assert status(client, issuer.token()) == 200
    assert status(client, issuer.token(**wrong)) == 401


def test_a_token_that_the_issuer_did_not_sign_opens_nothing(client: TestClient, issuer: Issuer):
    good = issuer.token(roles=["admin"])
    claims = jwt.decode(good, options={"verify_signature": False})
    kid = {"kid": "first"}
    other = ec.generate_private_key(ec.SECP256R1())
    public = issuer.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header, body, signature = good.split(".")
    richer = base64.urlsafe_b64encode(json.dumps({**claims, "sub": "2"}).encode()).rstrip(b"=").decode()
    with_secret = f"{_part({'alg': 'HS256', 'typ': 'JWT', **kid})}.{body}"
    forged = {
        "alg none": jwt.encode(claims, "", algorithm="none", headers=kid),
        "alg None": f"{_part({'alg': 'None', **kid})}.{body}.",
        "another key": jwt.encode(claims, other, algorithm="ES256", headers=kid),
        "the public key as a secret": f"{with_secret}.{_hmac(public, with_secret)}",
        "another body": f"{header}.{richer}.{signature}",
        "no signature": f"{header}.{body}.",
        "nothing": "..",
        "no json": f"e30.{body}.{signature}",
    }
    assert status(client, good) == 200
    assert {name: status(client, token) for name, token in forged.items()} == dict.fromkeys(forged, 401)


def _part(found: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(found).encode()).rstrip(b"=").decode()


def _hmac(secret: bytes, text: str) -> str:
    algorithm = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    return base64.urlsafe_b64encode(algorithm.sign(text.encode(), secret)).rstrip(b"=").decode()


def test_roles_are_read_where_the_issuer_keeps_them(issuer: Issuer):
    with asked(service_of(issuer, "realm_access.roles")) as client:
        token = issuer.token(roles=None, realm_access={"roles": ["else", "operator", "viewer"]})
        assert status(client, token, "PUT", "/connectors/none/pause") == 404, "an operator may"
        assert status(client, token, "DELETE", "/connectors/none") == 403, "but not this"
        assert status(client, issuer.token()) == 401, "roles elsewhere are no roles"


def test_keys_come_and_go(client: TestClient, issuer: Issuer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{RULES}._ASK_AGAIN_S", 0.0)
    old = issuer.token()
    assert status(client, old) == 200
    issuer.rotate("second")
    assert status(client, issuer.token()) == 200, "a new key is asked for when a token names it"
    assert status(client, old) == 200, "the old key is still shown"
    issuer.rotate("third", keep=False)
    assert status(client, issuer.token()) == 200
    assert status(client, old) == 401, "a key that was taken back is believed no more"


def test_a_key_that_was_taken_back_is_forgotten_without_any_new_token(
    issuer: Issuer, client: TestClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(f"{RULES}._KEYS_LAST_S", 0.001)
    old = issuer.token()
    assert status(client, old) == 200
    issuer.rotate("second", keep=False)
    assert status(client, old) == 401


def test_nonsense_does_not_make_us_ask_the_issuer_again_and_again(client: TestClient, issuer: Issuer):
    assert status(client, issuer.token()) == 200
    asked_before = len(issuer.asked)
    issuer.keys = {"unknown": ec.generate_private_key(ec.SECP256R1())}
    began = time.monotonic()
    for _ in range(20):
        assert status(client, issuer.token()) in {200, 401}
    assert len(issuer.asked) - asked_before <= 1 + (time.monotonic() - began) / 5


def test_an_issuer_that_is_away_is_not_the_fault_of_who_asks(issuer: Issuer):
    with asked(service_of(issuer)) as client:
        issuer.open = False
        for _ in range(4):
            answer = client.get("/connectors", headers={"authorization": f"Bearer {issuer.token()}"})
            assert answer.status_code == 503, "and nobody is locked out for it"
            assert issuer.url in answer.json()["message"]
        issuer.open = True
        assert status(client, issuer.token()) == 200


def test_an_issuer_that_calls_itself_otherwise_is_not_believed(issuer: Issuer, caplog: pytest.LogCaptureFixture):
    issuer.says_it_is = "https://else"
    with asked(service_of(issuer)) as client:
        assert status(client, issuer.token()) == 503
    assert "describes https://else" in caplog.text
    assert issuer.token()[:20] not in caplog.text
