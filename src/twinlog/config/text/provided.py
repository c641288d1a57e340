"""What config providers filled in, and the one exit of texts that might quote it (R12). Pure; it travels to tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeVar
from urllib.parse import unquote

from twinlog.config.security.secrets import MASK
from twinlog.errors import Finding

_SEPARATORS: Final = re.compile(r"[\s,;|=\"'()&?@]+")
_LOGIN: Final = re.compile(r"//[^/@]*:([^/@]*)@")
_SHORTEST_PART: Final = 4
T = TypeVar("T")


@dataclass(frozen=True)
class Provided:
    """The values of one text that came from elsewhere. It prints without them."""

    values: frozenset[str] = field(default=frozenset(), repr=False)

    def __init__(self, values: Iterable[str] = ()) -> None:
        object.__setattr__(self, "values", frozenset(values))

    def masked(self, text: str) -> str:
        """The text without these values, and without each word of them, in whatever form it quotes them."""
        return text if self._hidden is None else self._hidden.sub(MASK, text)

    def masked_deep(self, told: T) -> T:
        """The same for every text in lists and dictionaries."""
        match told:
            case str():
                return self.masked(told)  # type: ignore[return-value]
            case dict():
                return {key: self.masked_deep(value) for key, value in told.items()}  # type: ignore[return-value]
            case list():
                return [self.masked_deep(value) for value in told]  # type: ignore[return-value]
            case _:
                return told

    def findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings without these values."""
        return [
            finding._replace(key=finding.key and self.masked(finding.key), sentence=self.masked(finding.sentence))
            for finding in findings
        ]

    @cached_property
    def _hidden(self) -> re.Pattern[str] | None:
        words = {form for value in self.values for word in _words(value) for form in _forms(word)} - {""}
        # A short word may be part of an ordinary one; a longer one is masked also where text was joined to it.
        either = "|".join(
            re.escape(word) if len(word) >= _SHORTEST_PART else rf"(?<!\w){re.escape(word)}(?!\w)"
            for word in sorted(words, key=len, reverse=True)
        )
        return re.compile(either, re.IGNORECASE) if words else None


def _words(value: str) -> Iterator[str]:
    yield value.strip()
    yield from _SEPARATORS.split(value)
    yield from _LOGIN.findall(value)


def _forms(word: str) -> Iterator[str]:
    """As it is, as an address spells it, and as Python and JSON quote it."""
    yield from (word, unquote(word), repr(word)[1:-1], json.dumps(word)[1:-1])


NOTHING_PROVIDED: Final = Provided()
