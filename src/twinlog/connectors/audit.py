"""Who changed what, before and after: every change that was asked for over HTTP, whether it was done or refused.

Runs in the service's loop. Entries go to a file and to a topic of the store; secrets are masked before (R12).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

log = logging.getLogger("twinlog.audit")

Role: TypeAlias = Literal["viewer", "operator", "admin"]
RANKS: Mapping[Role, int] = {"viewer": 1, "operator": 2, "admin": 3}


@dataclass(frozen=True)
class Who:
    """Somebody who asks: a name, what they may do, and where the request came from."""

    name: str
    role: Role
    address: str = ""

    def may(self, needed: Role) -> bool:
        """Whether they may do what needs this role."""
        return RANKS[self.role] >= RANKS[needed]


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


NOBODY = Who("anonymous", "admin")
"""On loopback without a login: whoever is on the machine may read the settings file, too."""


class Audit:
    """Where entries go. A place that takes none is logged; it stops nobody from mending a link."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._writing = threading.Lock()
        self.to_topic: Callable[[bytes], None] | None = None

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
        entry = {
            "at_ms": int(time.time() * 1000),
            **asdict(who),
            "what": what,
            "thing": thing,
            "before": before,
            "after": after,
            "outcome": outcome,
        }
        line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False, default=str)
        log.info("%s", line)
        if self._file is not None:
            try:
                with self._writing, self._file.open("a", encoding="utf-8") as paper:
                    paper.write(line + "\n")
            except OSError as error:
                log.error("%s: the audit file takes no entry: %s", self._file, error.strerror)  # noqa: TRY400
        if self.to_topic is not None:
            try:
                self.to_topic(line.encode())
            except Exception:  # a client library may raise anything here, and the change is done
                log.exception("the audit topic takes no entry")
