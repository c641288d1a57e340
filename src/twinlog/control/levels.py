"""Levels of logging, as Connect names them: of this process, changed by an order or by what the links topic says.

A level belongs to the process and lasts until it ends; a service that begins later does not take up what was ordered
before, as with Connect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.connectors import GroupState, LevelOrder

OWN: Final = "twinlog"
LEVELS: Final = {
    "TRACE": 5, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL, "OFF": logging.CRITICAL + 10,
}  # fmt: skip
_CHANGED: Final[dict[str, int]] = {}
"""Logger -> when its level was changed, in ms; a level belongs to the process, and so does this."""


class Level(NamedTuple):
    """The level in force, and when it was changed, if it was."""

    level: str
    last_modified: int | None


def is_own(logger: str) -> bool:
    """Whether there can be a logger of this name."""
    return logger == "root" or logger.partition(".")[0] == OWN


def known_loggers() -> list[str]:
    """Those that have a level of their own."""
    named = {name for name in list(logging.Logger.manager.loggerDict) if name.partition(".")[0] == OWN}
    return sorted({"root", OWN, *(name for name in named if _logger(name).level or name in _CHANGED)})


def level_of(logger: str) -> Level:
    """How much a logger says."""
    level = _logger(logger).getEffectiveLevel()
    word = next((word for word, number in sorted(LEVELS.items(), key=lambda pair: pair[1]) if number >= level), "OFF")
    return Level(word, _CHANGED.get(logger))


def set_level(logger: str, level: str) -> list[str]:
    """Set the level of a logger and of those below it; returns whose level changed."""
    below = {name for name in known_loggers() if name.startswith(f"{logger}.")} | {logger}
    changed = sorted(name for name in below if level_of(name).level != level)
    for name in below:
        _logger(name).setLevel(LEVELS[level])
    _CHANGED.update(dict.fromkeys(changed, SYSTEM_CLOCK.now_ms()))
    return changed


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == "root" else name)


class OrderedLevels:
    """Levels that were ordered for all services of a group. What was ordered before we began is not taken up."""

    def __init__(self) -> None:
        self._known: Mapping[str, LevelOrder] = {}

    def begin(self, group_state: GroupState) -> None:
        """Remember what was ordered before our time."""
        self._known = group_state.levels

    def take(self, group_state: GroupState) -> None:
        """Set the levels that were ordered since."""
        before, self._known = self._known, group_state.levels
        for logger, order in self._known.items():
            if before.get(logger) != order and is_own(logger) and order.level in LEVELS:
                set_level(logger, order.level)
