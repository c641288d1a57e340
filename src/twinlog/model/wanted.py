"""Names that an operator chooses with an expression. Choosing nothing is an error, never a good answer. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from twinlog.errors import SelectionEmpty, UsageError
from twinlog.model.javaregex import Matcher, RegexError, compile_java

_NEAR: Final = 3


@dataclass(frozen=True)
class Wanted:
    """A choice among names: `expression` must match the whole name; None chooses all. `option` is where it came from.

    Raises UsageError for an expression that cannot be compiled.
    """

    option: str
    expression: str | None = None

    def __post_init__(self) -> None:
        _ = self._pattern

    @cached_property
    def _pattern(self) -> Matcher | None:
        try:
            return None if self.expression is None else compile_java(self.expression)
        except RegexError as error:
            raise UsageError(f"{self.option} {self.expression}: {error}") from error

    def __call__(self, name: str) -> bool:
        """Whether this name is chosen."""
        return self._pattern is None or self._pattern.fullmatch(name) is not None

    def __str__(self) -> str:
        return self.option if self.expression is None else f"{self.option} {self.expression}"

    def among(self, names: Iterable[str], things: str) -> list[str]:
        """The chosen names, sorted. Raises SelectionEmpty when there are none; `things` says what the names are of."""
        known = sorted(set(names))
        chosen = [name for name in known if self(name)]
        if not chosen:
            raise SelectionEmpty(str(self), things, _near(self.expression, known))
        return chosen


def _near(expression: str | None, names: list[str]) -> str:
    """The names that may have been meant, or some of those that exist."""
    if not names:
        return "there are none"
    asked = (expression or "").replace("\\", "")
    near = difflib.get_close_matches(asked, names, n=_NEAR, cutoff=0.6)
    near = near or [name for name in names if asked and asked.lower() in name.lower()][:_NEAR]
    if near:
        return f"nearest: {', '.join(near)}"
    more = len(names) - _NEAR
    return f"there are: {', '.join(names[:_NEAR])}" + (f" and {more} more" if more > 0 else "")
