"""R12 where viewers look: settings with their origins, and what hooks and gateways said."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from tests.kit.fixed_answers import answering

from twinlog.config.resolve import examine, resolve
from twinlog.config.security.masking import is_secret, masked
from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.redirect import command, webhook
from twinlog.surface.http.operations import Operation, Operations

HIDDEN = "tok-SECRET-1"
BASE = "clusters = A, B\nbootstrap.servers = k:1\nA->B.enabled = true\n"
HOOKS = f"""{BASE}A->B.redirects = p, q
A->B.redirects.p.type = command
A->B.redirects.p.command = /usr/bin/curl -H "Authorization: Bearer {HIDDEN}" https://gw
A->B.redirects.q.type = consul
A->B.redirects.q.url = https://u:{HIDDEN}@consul
A->B.redirects.q.key = kafka/active
A->B.redirects.q.value = {HIDDEN}
A->B.redirects.q.value.A = {HIDDEN}
A->B.redirects.q.user = {HIDDEN}
"""
DIRECTION = Direction(active="B", former="A", bootstrap="b:1", generation=1, link="A->B")


@pytest.mark.proves("R12")
def test_what_hooks_are_set_to_is_masked_for_everybody_who_looks():
    resolved = resolve(HOOKS.encode(), "f", (), {})
    shown = {name: origin.value for name, origin in resolved.origins["A->B"].items()}
    assert HIDDEN not in str(shown)
    assert shown["redirects.p.command"] == "***"
    assert shown["redirects.p.type"] == "command", "what is no secret stays readable"
    assert shown["redirects.q.key"] == "kafka/active"
    config = {"redirects.p.command": HIDDEN, "redirects.q.value": HIDDEN, "redirects.q.type": "consul"}
    assert masked(config) == {"redirects.p.command": "***", "redirects.q.value": "***", "redirects.q.type": "consul"}
    assert not is_secret("A->B.redirects")


@pytest.mark.proves("R12")
def test_an_address_with_a_login_in_it_is_refused_and_not_shown():
    oauth = (
        f"{BASE}security.protocol = SASL_SSL\nsasl.mechanism = OAUTHBEARER\n"
        f"sasl.oauthbearer.token.endpoint.url = https://u:{HIDDEN}@idp/token\n"
        "sasl.oauthbearer.client.credentials.client.id = i\nsasl.oauthbearer.client.credentials.client.secret = s\n"
    )
    found = examine(oauth.encode(), "f", (), {})
    told = [str(one) for one in found.findings if one.level == "error"]
    assert any("token.endpoint.url" in one and "user" in one for one in told)
    assert HIDDEN not in str(told) + str(found.lookup.origins)
    assert masked({"x.url": f"https://u:{HIDDEN}@idp/token"}) == {"x.url": "https://***@idp/token"}


@pytest.mark.proves("R12")
def test_what_a_hook_prints_is_for_the_log_of_the_service(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    program = tmp_path / "hook"
    program.write_text(f"#!/bin/sh\necho {HIDDEN} >&2\nexit 3\n")
    program.chmod(0o755)
    with caplog.at_level(logging.WARNING), pytest.raises(RedirectFailed) as failed:
        command.call(Redirect(name="p", kind="command", command=(str(program),)), DIRECTION)
    assert "ended with 3" in str(failed.value)
    assert HIDDEN not in str(failed.value)
    assert HIDDEN in caplog.text


@pytest.mark.parametrize("status", [302, 500])
def test_a_gateway_is_not_followed_elsewhere_and_its_words_are_for_the_log(status: int):
    with (
        answering(200) as (elsewhere, heard),
        answering(status, f"location: http://127.0.0.1:{elsewhere}/") as (port, _),
    ):
        hook = Redirect(name="g", kind="webhook", url=Secret(f"http://127.0.0.1:{port}/"),
                        headers={"Authorization": Secret(HIDDEN)})  # fmt: skip
        with pytest.raises(RedirectFailed, match=str(status)):
            webhook.call(hook, DIRECTION)
        assert heard == []


def test_a_mistake_of_ours_is_told_by_its_kind_alone():
    async def work(_: Operation) -> dict[str, str]:
        raise ValueError(HIDDEN)

    async def main() -> Operation:
        ended = asyncio.Event()
        operations = Operations(on_change=lambda one: ended.set() if one.status != "running" else None)
        operation = operations.start(Operation("verification", "A->B", {}, "ada", "12345678"), work)
        async with asyncio.timeout(10):
            await ended.wait()
        return operation

    operation = asyncio.run(main())
    assert operation.error is not None
    assert HIDDEN not in str(operation.error)
    assert "ValueError" in operation.error["message"]
