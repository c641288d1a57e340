"""Addresses that a list allows, and requests that leave none of them."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.fixed_answers import answering

from twinlog.config.security.addresses import is_clear_text, is_listed
from twinlog.config.text.provided import Provided
from twinlog.errors import Finding
from twinlog.wire.web import opened

WORDS = st.text("abcz", min_size=1, max_size=5)


@given(WORDS, st.integers(1, 65535), st.lists(WORDS, max_size=3), st.lists(WORDS, max_size=3))
def test_an_address_is_listed_with_all_that_is_below_it(host: str, port: int, folder: list[str], below: list[str]):
    listed = "/".join([f"https://{host}.example:{port}", *folder])
    url = "/".join([listed, *below])
    assert is_listed(url, ["https://other.example", listed])
    assert is_listed(f"{url}?a=b", [f"{listed}/"])
    for other in (
        url.replace("https:", "http:"),
        url.replace(".example", ".example.evil"),
        url.replace(f"//{host}", f"//{host}@evil"),
        url.replace(f":{port}", f":{port + 1 if port < 65535 else 1}"),
        f"{listed}/../x",
        f"{listed}/%2e%2E/x",
    ):
        assert not is_listed(other, [listed]), other
    if folder:
        assert not is_listed(f"{listed}x", [listed]), "a folder is no beginning of a word"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://idp/token", True), ("HTTP://idp/token", True), ("https://idp/token", False),
        ("http://127.0.0.1:80/", False), ("http://[::1]/", False), ("http://localhost.evil/", True),
        ("http://[", False),
    ],
)  # fmt: skip
def test_clear_text_is_http_beyond_this_machine(url: str, expected: bool):
    assert is_clear_text(url) == expected


@pytest.mark.proves("R12")
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_request_with_credentials_follows_nobody_elsewhere(method: str, status: int):
    with (
        answering(200) as (elsewhere, heard),
        answering(status, f"location: http://127.0.0.1:{elsewhere}/") as (port, _),
    ):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/", method=method, headers={"Authorization": "Basic c2VjcmV0"}
        )
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            opened(request, timeout_s=10)
        assert heard == []


def test_nothing_is_sent_to_a_link_local_address_however_it_is_called(monkeypatch: pytest.MonkeyPatch):
    """A name may lead to the metadata service of a cloud's machine, so the peer counts and not the name."""
    with answering(200) as (port, heard):
        monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("169.254.169.254", 80))
        request = urllib.request.Request(f"http://127.0.0.1:{port}/latest/meta-data")
        with pytest.raises(urllib.error.URLError, match="link-local"):
            opened(request, timeout_s=10)
        monkeypatch.undo()
        assert not any(b"meta-data" in one for one in heard)


@pytest.mark.proves("R12")
@given(st.text("abcXYZ09!-", min_size=4, max_size=12), st.text("abc ", max_size=8))
def test_what_a_provider_filled_in_is_masked_wherever_a_finding_quotes_it(secret: str, around: str):
    """The one exit: whichever rule quotes a value, and whatever it joins to it."""
    said = Finding("error", "f", 1, f"{secret}.bootstrap.servers", f"missing; {around}{secret}->b needs it")
    (told,) = Provided([f"first line\n{secret}"]).findings([said])
    assert secret not in f"{told.key} {told.sentence}"
    assert Provided().findings([said]) == [said]
