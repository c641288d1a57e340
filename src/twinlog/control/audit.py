"""Who logged in and who changed what, before and after: every change that was asked for over HTTP, done or refused.

Runs in the service's loop. Entries go to a file and to a topic of the store, chained by their hashes; secrets are
masked before (R12).
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from twinlog.control.audit_file import Chain
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.selection import Patterns

log = logging.getLogger("twinlog.audit")

Role: TypeAlias = Literal["viewer", "operator", "admin"]
RANKS: Mapping[Role, int] = {"viewer": 1, "operator": 2, "admin": 3}
_DELIVERED_WITHIN_S: Final = 5.0


@dataclass(frozen=True)
class Grant:
    """What somebody may do, at the links that `links` matches; None: at all of them, and with the service itself."""

    role: Role
    links: Patterns | None = None

    def covers(self, link: str | None) -> bool:
        """Whether it is about a link; None stands for the service itself."""
        return self.links is None or (link is not None and self.links.matches(link))


@dataclass(frozen=True)
class Who:
    """Somebody who asks: a name, what they may do, and where the request came from.

    `by` is what they showed. Names of an issuer may be chosen by their owners and may equal those of other users:
    `subject` and `issuer` together tell who it is.
    """

    name: str
    role: Role
    address: str = ""
    by: str = ""
    subject: str = ""
    issuer: str = ""
    grants: tuple[Grant, ...] = ()  # none: `role`, everywhere
    until: float | None = None  # when what they showed ends, in seconds since 1970
    proof: str = field(default="", repr=False)  # of what they showed; an order with a session shows it

    @property
    def allowed(self) -> tuple[Grant, ...]:
        """Everything they may do."""
        return self.grants or (Grant(self.role),)

    def may(self, needed: Role, link: str | None = None) -> bool:
        """Whether they may do what needs this role with a link, or with the service itself."""
        return any(RANKS[grant.role] >= RANKS[needed] and grant.covers(link) for grant in self.allowed)

    def may_somewhere(self, needed: Role) -> bool:
        """Whether there can be a link with which they may do it."""
        return any(RANKS[grant.role] >= RANKS[needed] for grant in self.allowed)

    @property
    def view(self) -> tuple[Patterns, ...] | None:
        """Which links they see; None: all of them. Equal for people who get equal answers."""
        return None if self.may("viewer") else tuple(grant.links for grant in self.grants if grant.links is not None)

    def sees(self, link: str) -> bool:
        """Whether a link may be shown to them."""
        return self.may("viewer", link)


_NOTED: ContextVar[bool] = ContextVar("noted", default=False)
"""Whether the request that is being answered was written down, so that the gate writes only what nobody else did."""


@contextmanager
def order_under_way() -> Iterator[Callable[[], bool]]:
    """Around one request; what it yields tells whether somebody wrote it down."""
    before = _NOTED.set(False)
    try:
        yield _NOTED.get
    finally:
        _NOTED.reset(before)


NOBODY = Who("anonymous", "viewer")
"""On loopback without a login: everybody on the machine reaches the port, so they may look and nothing else."""


class AuditUnavailableError(Exception):
    """An entry that must be written before an order is carried out cannot be written; the text says why."""


class Audit:
    """Where entries go. A place that takes none is logged and counted.

    With `required` an order is written down before it is carried out (`ask`), and refused when that is not possible.
    Without it a full disk stops nobody from fixing a link.
    """

    def __init__(self, file: Path | None = None, *, required: bool = False) -> None:
        self.required = required
        self.failures = 0
        self.to_topic: Callable[[bytes, Callable[[str | None], None]], None] | None = None
        self._file = file
        self._chain = Chain(file)
        self._writing = threading.Lock()

    def note(
        self,
        who: Who,
        what: str,
        thing: str,
        *,
        before: Any = None,
        after: Any = None,
        outcome: str = "done",
    ) -> None:
        """Write one entry; `before` and `after` must be masked already."""
        _NOTED.set(True)
        entry = _entry(who, what, thing, outcome, before=before, after=after)
        try:
            with self._writing:
                line = self._chain.append(entry)
        except OSError as error:
            line = json.dumps(entry, separators=(",", ":"))
            self._fail(f"{self._file}: the audit file takes no entry: {error.strerror}")
        log.info("%s", line)
        self._hand_over(line, self._delivered)

    def ask(self, who: Who, what: str, thing: str) -> None:
        """Write down that an order was given, and wait until it is kept. Blocking; raises AuditUnavailableError."""
        entry = _entry(who, what, thing, "asked")
        try:
            with self._writing:
                line = self._chain.append(entry, durable=True)
        except OSError as error:
            self._fail(f"{self._file}: the audit file takes no entry: {error.strerror}")
            raise AuditUnavailableError(f"{self._file}: {error.strerror}") from error
        log.info("%s", line)
        if self.to_topic is None:
            if self._file is None:
                raise AuditUnavailableError("there is no http.audit.file, and the audit topic is not open yet")
            return
        if self._file is not None:
            self._hand_over(line, self._delivered)
            return
        told: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._hand_over(line, told.put)
        try:
            trouble = told.get(timeout=_DELIVERED_WITHIN_S)
        except queue.Empty:
            trouble = "the audit topic does not answer"
        self._delivered(trouble)
        if trouble is not None:
            raise AuditUnavailableError(trouble)

    def _hand_over(self, line: str, done: Callable[[str | None], None]) -> None:
        if self.to_topic is None:
            return
        try:
            self.to_topic(line.encode(), done)
        except Exception as error:  # a client library may raise anything here, and the change is done
            log.exception("the audit topic takes no entry")
            done(str(error))

    def _delivered(self, trouble: str | None) -> None:
        if trouble is not None:
            self._fail(f"the audit topic takes no entry: {trouble}")

    def _fail(self, sentence: str) -> None:
        self.failures += 1
        log.error("%s", sentence)


def _entry(who: Who, what: str, thing: str, outcome: str, *, before: Any = None, after: Any = None) -> dict[str, Any]:
    entry = {
        "at_ms": SYSTEM_CLOCK.now_ms(),
        "name": who.name,
        "role": who.role,
        "address": who.address,
        "by": who.by,
        "subject": who.subject,
        "issuer": who.issuer,
        "what": what,
        "thing": thing,
        "before": before,
        "after": after,
        "outcome": outcome,
    }
    return cast("dict[str, Any]", json.loads(json.dumps(entry, default=str)))
