"""The hook `dns`: one record, replaced by a dynamic update (RFC 2136), signed with TSIG if a key is set; asked back."""

from __future__ import annotations

import time
from typing import Final

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed
from twinlog.model.switch.redirects import Direction

_PORT: Final = 53
_AGAIN_S: Final = 0.5


def call(hook: Redirect, direction: Direction) -> str:
    """Replace the record, then ask the server for it. Blocking."""
    deadline = time.monotonic() + hook.timeout_seconds
    host, _, port = (hook.server or "").partition(":")
    where = int(port or _PORT)
    value = direction.value(hook.value, hook.values)
    zone, name = dns.name.from_text(hook.zone or "."), dns.name.from_text(direction.fill(hook.record_name or ""))
    try:
        update = _signed(hook, dns.update.UpdateMessage(zone))
        update.replace(name, hook.ttl, hook.record, value)
        answer = dns.query.tcp(update, host, timeout=hook.timeout_seconds, port=where)
        if answer.rcode() != dns.rcode.NOERROR:
            raise RedirectFailed(hook.name, f"{host} refused the update: {dns.rcode.to_text(answer.rcode())}")
        while True:
            answers = _ask(name, hook.record, host, where, max(1.0, deadline - time.monotonic()))
            if _same(answers, value):
                return f"{name} {hook.record} {value}, time to live {hook.ttl} s"
            if time.monotonic() > deadline:
                raise RedirectFailed(hook.name, f"{host} still answers {', '.join(answers) or 'nothing'} for {name}")
            time.sleep(_AGAIN_S)
    except (dns.exception.DNSException, OSError, ValueError) as error:
        raise RedirectFailed(hook.name, f"{host}: {error or type(error).__name__}") from None


def _signed(hook: Redirect, update: dns.update.UpdateMessage) -> dns.update.UpdateMessage:
    if hook.tsig_name is not None and hook.tsig_secret is not None:
        keys = dns.tsigkeyring.from_text({hook.tsig_name: hook.tsig_secret.reveal()})
        update.use_tsig(keys, algorithm=dns.name.from_text(hook.tsig_algorithm))
    return update


def _ask(name: dns.name.Name, kind: str, host: str, port: int, timeout_s: float) -> list[str]:
    """What the server itself says; a resolver in between may remember the old answer for its time to live."""
    question = dns.message.make_query(name, kind)
    answer = dns.query.tcp(question, host, timeout=timeout_s, port=port)
    return [data.to_text() for records in answer.answer for data in records]


def _same(answers: list[str], value: str) -> bool:
    return value.rstrip(".").strip('"') in {text.rstrip(".").strip('"') for text in answers}
