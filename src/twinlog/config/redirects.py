"""The redirect hooks and the switch settings of a link. Runs with `resolve`.

A list of names in the order in which they are called, then keys for each:

    A->B.redirects = dns, gateway
    A->B.redirects.dns.type = dns
    A->B.redirects.dns.name = kafka.example.com.
    A->B.redirects.dns.value.A = broker.a.example.com.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from twinlog.config.security.addresses import is_clear_text, is_listed
from twinlog.config.security.secrets import Secret
from twinlog.config.switch_settings import FenceMeans, Redirect, Reverse, SwitchSettings, TailPolicy
from twinlog.config.text import switch_keys as keys
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.values import Kind, OneOf, Text, Whole
from twinlog.model.switch.redirects import HookKind

T = TypeVar("T")

_FAMILY: Final = keys.REDIRECT_KEYS.name[:-1]
_NEEDS: Final[dict[HookKind, tuple[str, ...]]] = {
    "command": ("command",),
    "webhook": ("url",),
    "dns": ("server", "zone", "name"),
    "etcd": ("url", "key"),
    "consul": ("url", "key"),
}
_PARTS: Final = (
    "type", "timeout.seconds", "command", "url", "method", "body", "verify.url", "verify.contains", "key", "value",
    "server", "zone", "name", "record", "ttl", "tsig.name", "tsig.secret", "tsig.algorithm", "user", "password",
    "token", "ca", "certificate", "private.key",
)  # fmt: skip
_FAMILIES: Final = ("value.", "header.")


def resolve_switch(at: LinkLookup) -> SwitchSettings:
    """Read it all; what is written but not understood is noted."""
    listed = at.value(keys.REDIRECTS)
    names = tuple(dict.fromkeys(listed))
    allowed = at.value(keys.URLS)
    redirects = tuple(redirect for redirect in (_redirect(at, name, allowed) for name in names) if redirect is not None)
    _leftovers(at, names)
    return SwitchSettings(
        fence=cast("FenceMeans", at.value(keys.FENCE)),
        principals=at.value(keys.PRINCIPALS),
        reverse=cast("Reverse", at.value(keys.REVERSE)),
        tail=cast("TailPolicy", at.value(keys.TAIL)),
        tail_topic=at.optional(keys.TAIL_TOPIC),
        grace_seconds=at.value(keys.GRACE),
        timeout_seconds=at.value(keys.TIMEOUT),
        redirects=redirects,
        secret=None if (secret := at.optional(keys.SECRET)) is None else Secret(secret),
    )


class _Reader:
    """The keys of one hook."""

    def __init__(self, at: LinkLookup, name: str) -> None:
        self.at, self.name = at, name

    def get(self, part: str, kind: Kind[T], default: str | None = None, *, secret: bool = False) -> T | None:
        key: Key[T] = Key(f"{_FAMILY}{self.name}.{part}", (Scope.LINK,), kind, default, "", secret=secret, own=True)
        return self.at.optional(key)

    def text(self, part: str, default: str | None = None) -> str | None:
        return self.get(part, Text(), default)

    def secret(self, part: str) -> Secret | None:
        text = self.get(part, Text(), secret=True)
        return None if text is None else Secret(text)

    def family(self, prefix: str) -> dict[str, str]:
        """All keys below `prefix`; the link's own win over those at the top of the file."""
        settings: dict[str, str] = {}
        for way in (f"{_FAMILY}{self.name}.{prefix}", f"{self.at.link}.{_FAMILY}{self.name}.{prefix}"):
            for key, entry in self.at.lookup.entries.items():
                if key.startswith(way):
                    self.at.lookup.asked.add(key)
                    settings[key[len(way) :]] = entry.value.strip()
        return settings


def _redirect(at: LinkLookup, name: str, allowed: tuple[str, ...]) -> Redirect | None:
    read = _Reader(at, name)
    kind = cast("HookKind | None", read.get("type", OneOf(tuple(_NEEDS))))
    if kind is None:
        missing = f"{at.link}.{_FAMILY}{name}.type"
        at.lookup.note("error", at.entry(keys.REDIRECTS), f"{name} has no valid type; write {missing}")
        return None
    fields: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "timeout_seconds": read.get("timeout.seconds", Whole(1, 3600), "30"),
        "command": read.get("command", _Blanks()) or (),
        "url": read.secret("url"),
        "method": read.get("method", OneOf(("POST", "PUT", "GET", "PATCH")), "POST"),
        "headers": {key: Secret(value) for key, value in read.family("header.").items()},
        "body": read.secret("body"),
        "verify_url": read.secret("verify.url"),
        "verify_contains": read.text("verify.contains", "{active}"),
        "key": read.text("key"),
        "value": read.text("value"),
        "values": read.family("value."),
        "server": read.text("server"),
        "zone": read.text("zone"),
        "record_name": read.text("name"),
        "record": read.get("record", OneOf(("CNAME", "A", "AAAA", "TXT", "SRV")), "CNAME"),
        "ttl": read.get("ttl", Whole(0, 86_400), "30"),
        "tsig_name": read.text("tsig.name"),
        "tsig_secret": read.secret("tsig.secret"),
        "tsig_algorithm": read.text("tsig.algorithm", "hmac-sha256"),
        "user": read.text("user"),
        "password": read.secret("password"),
        "token": read.secret("token"),
        "ca": read.text("ca"),
        "certificate": read.text("certificate"),
        "private_key": read.text("private.key"),
        "allowed_urls": allowed,
    }
    for part in _NEEDS[kind]:
        if not fields["record_name" if part == "name" else part]:
            at.lookup.note("error", at.entry(keys.REDIRECTS), f"{name} ({kind}) needs {_FAMILY}{name}.{part}")
    hook = Redirect(**fields)
    for problem in _problems(hook):
        at.lookup.note("error", at.entry(keys.REDIRECTS), f"{name} ({kind}): {problem}")
    return hook


def _problems(hook: Redirect) -> Iterator[str]:
    """What would make a hook fail, or send its credentials in clear text, on the day of the switch."""
    for part, path in (("ca", hook.ca), ("certificate", hook.certificate), ("private.key", hook.private_key)):
        if path is not None and not Path(path).is_file():
            yield f"{_FAMILY}{hook.name}.{part} = {path}: there is no such file"
    if hook.private_key is not None and hook.certificate is None:
        yield f"{_FAMILY}{hook.name}.private.key needs {_FAMILY}{hook.name}.certificate"
    shows = hook.password or hook.token or hook.headers
    for part, address in (("url", hook.url), ("verify.url", hook.verify_url)):
        url = "" if address is None else address.reveal()
        # `{active}` and the like are filled in when the hook is called; the address is compared again then.
        if not url or "{" in url.partition("//")[2].partition("/")[0]:
            continue
        if hook.allowed_urls and not is_listed(url, hook.allowed_urls):
            yield f"{_FAMILY}{hook.name}.{part} is not listed in {keys.URLS.name}"
        elif shows and not hook.allowed_urls and is_clear_text(url):
            told = f"use https, or list the address in {keys.URLS.name}"
            yield f"{_FAMILY}{hook.name}.{part} would send credentials in clear text; {told}"


class _Blanks:
    """A command line: words separated by blanks; a word in double quotes may hold blanks."""

    allowed = "a program and its arguments, separated by blanks"

    def read(self, text: str) -> tuple[str, ...]:
        parts = text.split('"')
        words: list[str] = []
        for number, part in enumerate(parts):
            words += [part] if number % 2 else part.split()
        return tuple(words)


def _leftovers(at: LinkLookup, names: tuple[str, ...]) -> None:
    own = f"{at.link}.{_FAMILY}"
    for key, entry in at.lookup.entries.items():
        prefix = next((start for start in (own, _FAMILY) if key.startswith(start)), None)
        if prefix is None:
            continue
        name, _, part = key[len(prefix) :].partition(".")
        if part not in _PARTS and not part.startswith(_FAMILIES):
            at.lookup.note("warning", entry, f"unknown and ignored; after the name comes one of {', '.join(_PARTS)}")
        elif prefix == own and name not in names:
            at.lookup.note("warning", entry, f"ignored: `{at.link}.{keys.REDIRECTS.name}` does not list {name}")
