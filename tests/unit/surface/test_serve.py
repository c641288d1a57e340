"""The real server: TLS, certificates of clients, and orders that go on to the active service."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, cast

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, served
from tests.kit.waiting import wait_until

from twinlog.config.security.secrets import Secret
from twinlog.config.security.users import save_user, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.local.certificates import write_certificates
from twinlog.local.security import SecureFiles
from twinlog.surface.http.forward import Forward
from twinlog.surface.http.serve import address_of, bind

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"
LINK = "F-%3EG.MirrorSourceConnector"


def ask(url: str, context: ssl.SSLContext | None = None, method: str = "GET", token: str = "") -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:  # noqa: S310
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.fixture
def files(tmp_path: Path) -> SecureFiles:
    found = SecureFiles(tmp_path / "tls")
    write_certificates(found)
    return found


def client(files: SecureFiles, *, shows: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(files.authority))
    if shows:
        context.load_cert_chain(files.broker)
    return context


def test_orders_to_the_standby_are_done_by_the_active_one_over_tls_with_certificates(
    files: SecureFiles, tmp_path: Path
) -> None:
    user, token = with_token("robot", "operator")
    save_user(tmp_path / "users", user)
    shared = Secret("of the group")
    http = HttpSettings(
        certificate=files.broker, client_ca=files.authority, group_ca=files.authority, users_file=tmp_path / "users",
        group_secret=shared,
    )  # fmt: skip
    topic = PaperTopic()
    socks = [bind("127.0.0.1:0", http) for _ in range(2)]
    addresses = [address_of(sock, http) for sock in socks]
    assert addresses[0].startswith("https://127.0.0.1:")
    one, two = (
        PaperService(topic, text=FILE, http=http, instance=name, url=url)
        for name, url in zip(("one", "two"), addresses, strict=True)
    )
    known = client(files, shows=True)
    with served(one, socks[0]), served(two, socks[1], active=False):
        with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
            ask(f"{addresses[0]}/", client(files, shows=False), token=token)
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            ask(addresses[0].replace("https", "http") + "/")
        assert ask(f"{addresses[0]}/", known)[0] == 401, "a certificate opens the door, the login says who it is"
        base = f"{addresses[1]}/connectors/{LINK}"
        assert ask(f"{base}/status", known, token=token)[1]["connector"]["state"] == "RUNNING"
        assert ask(f"{base}/pause", known, "PUT", token)[0] == 202
        wait_until(lambda: one.runner.links, lambda links: not links, within_s=10, what="the paused link")
        assert ask(f"{base}/offsets", known, "DELETE", token)[0] == 403, "an operator may not forget positions"
        assert ask(f"{addresses[1]}/connectors/none/pause", known, "PUT", token)[0] == 404
    audited = [(entry["name"], entry["what"]) for entry in map(json.loads, topic.audited)]
    assert ("robot", "paused") in audited


def test_who_certifies_clients_certifies_no_server(files: SecureFiles, tmp_path: Path) -> None:
    """A client's certificate must not be enough to stand in for the service that leads."""
    own, clients = SecureFiles(tmp_path / "own"), SecureFiles(tmp_path / "clients")
    write_certificates(own)
    write_certificates(clients)
    http = HttpSettings(certificate=own.broker, client_ca=clients.authority)
    standby = Forward(cast("Any", None), leadership=cast("Any", None), settings=http)
    joined = http.model_copy(update={"group_ca": files.authority})
    with_group = Forward(cast("Any", None), leadership=cast("Any", None), settings=joined)

    def believed(one: Forward) -> set[str]:
        return {str(found["serialNumber"]) for found in one._tls().get_ca_certs()}

    def serial(of: SecureFiles) -> str:
        context = ssl.create_default_context(cafile=str(of.authority))
        return str(context.get_ca_certs()[0]["serialNumber"])

    assert serial(clients) not in believed(standby) | believed(with_group)
    assert serial(files) not in believed(standby)
    assert serial(files) in believed(with_group)


def test_answers_over_tls_tell_browsers_to_stay_with_it(files: SecureFiles) -> None:
    with served(PaperService(PaperTopic(), http=HttpSettings(certificate=files.broker))) as address:
        request = urllib.request.Request(f"{address}/connectors")  # noqa: S310  our own server
        with urllib.request.urlopen(request, timeout=20, context=client(files, shows=False)) as answer:  # noqa: S310
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
