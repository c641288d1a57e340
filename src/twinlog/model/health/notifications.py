"""Notifications about links: which events are sent, how they are grouped, and the body of each kind of hook. Pure.

event ─▶ wanted by the hook? ─▶ wait `group.seconds` for what belongs to the same outage ─▶ one message
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from twinlog.model.health.history import Event

HookType: TypeAlias = Literal["webhook", "slack", "pagerduty"]
_LEVELS: Final = {"info": 0, "good": 0, "warn": 1, "warning": 1, "bad": 2, "error": 2}
_LISTED: Final = 12
_MOMENTS: Final = frozenset({"switch", "operation"})
"""Kinds that happen; all others last until they end."""


@dataclass(frozen=True)
class Message:
    """What one call of a hook says."""

    events: tuple[Event, ...]
    open: Mapping[str, bool]  # by link: whether anything that was reported still lasts

    @property
    def title(self) -> str:
        """One line."""
        links = sorted({event.link for event in self.events})
        if not any(self.open.values()) and not any(event.kind in _MOMENTS for event in self.events):
            return f"Twinlog: {', '.join(links)}: ended"
        switched = [event for event in self.events if event.card]
        events = switched[-1:] if max(map(_rank, self.events)) < _LEVELS["bad"] and switched else self.events
        first = max(events, key=lambda event: (not _is_end(event), _rank(event), -event.at_ms))
        more = f" (and {len(self.events) - 1} more)" if len(self.events) > 1 else ""
        return f"Twinlog: {first.link}: {first.says}{more}"

    @property
    def lines(self) -> list[str]:
        """One line per event; the first ones, and how many more there are."""
        shown = [f"{event.link}: {'ended: ' if _is_end(event) else ''}{event.says}" for event in self.events[:_LISTED]]
        shown += [f"  what to do: {event.remedy}" for event in self.events[:1] if event.remedy]
        if len(self.events) > _LISTED:
            shown.append(f"and {len(self.events) - _LISTED} more")
        return shown

    @property
    def card(self) -> str:
        """The newest card for application teams, as Markdown; empty where no switch ended."""
        return next((event.card for event in reversed(self.events) if event.card), "")


@dataclass
class Grouping:
    """The events of one hook that wait for others of the same outage."""

    kinds: frozenset[str]
    least: str
    seconds: float
    _waiting: list[Event] = field(default_factory=list)
    _due_s: float | None = None
    _open: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def add(self, events: Iterable[Event], now_s: float) -> None:
        """Take events. The end of something that lasts is sent only if its beginning was.

        A switch that ended is news by itself, with its card; so is a check that failed.
        """
        for event in events:
            thing = (event.kind, event.thing)
            begun = self._open.setdefault(event.link, set())
            low = event.kind not in self.kinds or _rank(event) < _LEVELS.get(self.least, 1)
            if event.kind in _MOMENTS:
                if low and not (event.card and event.kind in self.kinds):
                    continue
            elif event.ended:
                if thing not in begun:
                    continue
                begun.discard(thing)
            elif low:
                continue
            else:
                begun.add(thing)
            self._waiting.append(event)
            if self._due_s is None:
                self._due_s = now_s + self.seconds

    def due(self, now_s: float) -> Message | None:
        """Return the message whose time has come."""
        if self._due_s is None or now_s < self._due_s:
            return None
        links = {event.link for event in self._waiting}
        message = Message(tuple(self._waiting), {link: bool(self._open.get(link)) for link in links})
        self._waiting, self._due_s = [], None
        return message


def _is_end(event: Event) -> bool:
    return event.ended and event.kind not in _MOMENTS


def _rank(event: Event) -> int:
    return _LEVELS.get(event.level, 1)


def bodies(hook: HookType, message: Message, routing_key: str) -> list[dict[str, Any]]:
    """Return the JSON bodies to send, in order. PagerDuty has one incident per link."""
    if hook == "slack":
        card = [message.card.replace("**", "*")] if message.card else []  # Slack's own marks
        return [{"text": "\n".join([f"*{message.title}*", *message.lines, *card])}]
    if hook == "pagerduty":
        return [_pagerduty(message, link, lasts, routing_key) for link, lasts in sorted(message.open.items())]
    events = [vars(event) for event in message.events]
    return [{"title": message.title, "open": dict(message.open), "card": message.card, "events": events}]


def _resolves(event: Event) -> bool:
    """Whether an event may end an incident: the end of what lasted, and of a switch; a failed check begins one."""
    return event.ended and not (event.kind in _MOMENTS and _rank(event))


def _pagerduty(message: Message, link: str, lasts: bool, routing_key: str) -> dict[str, Any]:
    own = tuple(event for event in message.events if event.link == link)
    told = Message(own, {link: lasts})
    worst = max((_rank(event) for event in own), default=1)
    return {
        "routing_key": routing_key,
        "event_action": "trigger" if lasts or not any(map(_resolves, own)) else "resolve",
        "dedup_key": f"twinlog/{link}",
        "payload": {
            "summary": told.title[:1024],
            "source": link,
            "severity": {0: "info", 1: "warning", 2: "critical"}[worst],
            "custom_details": {"lines": told.lines, "card": told.card},
        },
    }
