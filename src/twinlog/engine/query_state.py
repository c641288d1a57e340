"""The state of a streaming query, asked of Spark: its progress, whether it runs, why it failed. Blocking."""

from __future__ import annotations

import logging
import re
from typing import Any, Final

from twinlog.errors import EngineDied, told
from twinlog.spark.session import how_jvm_ended

log = logging.getLogger("twinlog.engine")

_OWN_ERROR: Final = re.compile(r"twinlog\.errors\.(\w+\.)?")


def last_batch(query: Any) -> int:
    """The number of the last epoch that came to its end. Raises EngineDied when Spark itself is gone."""
    try:
        progress = query.lastProgress
    except Exception as trouble:
        raise EngineDied(how_jvm_ended() or told(trouble)) from trouble
    return -1 if progress is None else int(progress["batchId"])


def is_active(query: Any) -> bool:
    """Whether Spark still runs it."""
    return bool(query.isActive)


def stop_query(query: Any) -> None:
    """Stop it; a query that is gone is stopped."""
    try:
        query.stop()
    except Exception as error:  # noqa: BLE001  Spark raises what it likes; a query that is gone is stopped
        log.warning("stopping the query: %s", told(error).splitlines()[0])


def failure_of(query: Any) -> str | None:
    """Why the query ended, if it did. Raises EngineDied when Spark itself is gone."""
    try:
        if query.isActive:
            return None
        error = query.exception()
    except Exception as trouble:
        raise EngineDied(how_jvm_ended() or told(trouble)) from trouble
    return cause_of(str(error)) if error is not None else "the query ended"


def cause_of(text: str) -> str:
    """The last Python error in a Java stack trace: the sentence that says something."""
    lines = [line.strip() for line in text.splitlines()]
    own = [_OWN_ERROR.sub("", line) for line in lines if _OWN_ERROR.match(line)]
    return own[-1] if own else next((line for line in lines if line), "unknown")
