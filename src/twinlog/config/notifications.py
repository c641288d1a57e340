"""`notifications.*`: whom the service notifies about its links. Runs while a file is resolved."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict

from twinlog.config.security.addresses import is_clear_text
from twinlog.config.security.secrets import Secret
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import Lookup
from twinlog.config.text.service_keys import NOTIFICATIONS
from twinlog.config.text.values import Kind, OneOf, Text, Whole, Words
from twinlog.model.health.notifications import HookType

T = TypeVar("T")
KINDS: Final = ("state", "fault", "engine", "source", "switch", "operation", "objective")
_TYPES: Final = get_args(HookType)
_PARTS: Final = ("type", "url", "routing.key", "kinds", "level", "group.seconds")
_PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"


class NotificationHook(BaseModel):
    """One hook that gets messages about links."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    type: HookType
    url: Secret
    routing_key: Secret | None = None
    kinds: tuple[str, ...] = KINDS
    level: str = "warning"
    group_seconds: int = 10


def resolve_notifications(lookup: Lookup) -> tuple[NotificationHook, ...]:
    """Read all of them; what is wrong is noted in the lookup."""
    names = lookup.read(NOTIFICATIONS, lookup.find((NOTIFICATIONS.name,))) or ()
    for key, entry in lookup.entries.items():
        if key.startswith("notifications."):
            name, _, part = key.removeprefix("notifications.").partition(".")
            if part not in _PARTS:
                lookup.asked.add(key)
                lookup.note("warning", entry, f"unknown and ignored; after the name comes {', '.join(_PARTS)}")
            elif name not in names:
                lookup.asked.add(key)
                lookup.note("warning", entry, f"ignored: `notifications` does not list {name}")
    return tuple(hook for name in dict.fromkeys(names) if (hook := _hook(lookup, name)) is not None)


def _hook(lookup: Lookup, name: str) -> NotificationHook | None:
    kind = cast("HookType | None", _read(lookup, name, "type", OneOf(_TYPES)))
    listed = lookup.find((NOTIFICATIONS.name,))
    if kind is None:
        lookup.note(
            "error", listed, f"{name} has no valid type; write notifications.{name}.type = {' | '.join(_TYPES)}"
        )
        return None
    url = _read(lookup, name, "url", Text(), _PAGERDUTY if kind == "pagerduty" else None, secret=True)
    key = _read(lookup, name, "routing.key", Text(), secret=True)
    kinds = _read(lookup, name, "kinds", Words()) or KINDS
    if url is None or not url.startswith(("http://", "https://")):
        lookup.note("error", listed, f"{name} ({kind}) needs notifications.{name}.url with http or https")
        return None
    if is_clear_text(url):
        lookup.note("error", listed, f"{name} ({kind}): its address needs https; it carries what happens to your links")
        return None
    if kind == "pagerduty" and key is None:
        lookup.note("error", listed, f"{name} ({kind}) needs notifications.{name}.routing.key")
        return None
    if unknown := [word for word in kinds if word not in KINDS]:
        lookup.note("error", listed, f"{name}: kinds are {', '.join(KINDS)}, not {', '.join(unknown)}")
        return None
    return NotificationHook(
        name=name,
        type=kind,
        url=Secret(url),
        routing_key=None if key is None else Secret(key),
        kinds=tuple(kinds),
        level=_read(lookup, name, "level", OneOf(("warning", "bad")), "warning") or "warning",
        group_seconds=_read(lookup, name, "group.seconds", Whole(0, 3600), "10") or 0,
    )


def _read(
    lookup: Lookup, name: str, part: str, kind: Kind[T], default: str | None = None, *, secret: bool = False
) -> T | None:
    key: Key[Any] = Key(f"notifications.{name}.{part}", (Scope.FILE,), kind, default, "", secret=secret, own=True)
    return cast("T | None", lookup.read(key, lookup.find((key.name,))))
