"""The kinds of value a key can have: how each is read and what is allowed. Pure.

A kind raises ValueRefusedError whose text says what is wrong without quoting the value: the caller knows whether the
value may be shown.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from twinlog.model.javaregex import RegexError
from twinlog.model.ledger.control import SCHEDULE_ALLOWED, Window, parse_schedule
from twinlog.model.naming import TOPIC
from twinlog.model.routes.provenance import OVERRIDES_ALLOWED, Override, parse_overrides
from twinlog.model.selection import Patterns
from twinlog.model.start import STARTS_ALLOWED, StartFrom, parse_start
from twinlog.model.topics.deletion import DELETIONS_ALLOWED, TopicDeletion, parse_deletion

T_co = TypeVar("T_co", covariant=True)
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_SERVER = re.compile(r"(?:[A-Za-z]+://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s:/,\[\]]+):([0-9]{1,5})")


class ValueRefusedError(ValueError):
    """The value is not allowed; the text says what is."""


class Kind(Protocol[T_co]):
    """How a value is read."""

    @property
    def allowed(self) -> str:
        """What may be written, as the end of the sentence 'allowed is ...'."""

    def read(self, text: str) -> T_co:
        """Turn the text of the file into a value, or raise ValueRefusedError."""


@dataclass(frozen=True)
class Flag:
    """True or false."""

    allowed: str = "true or false"

    def read(self, text: str) -> bool:
        """Read a boolean, in any case of letters."""
        word = text.strip().lower()
        if word not in {"true", "false"}:
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return word == "true"


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds; sizes and times too, because Kafka's files have no units."""

    low: int
    high: int = 2**31 - 1
    also: int | None = None

    @property
    def allowed(self) -> str:
        """The bounds, in words."""
        extra = "" if self.also is None else f", or {self.also}"
        return f"a whole number from {self.low} to {self.high}{extra}"

    def read(self, text: str) -> int:
        word = text.strip()
        number = int(word) if _WHOLE.fullmatch(word) else None
        if number is None or not (self.low <= number <= self.high or number == self.also):
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return number


@dataclass(frozen=True)
class OneOf:
    """One of a few words, in any case of letters."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(word or "(empty)" for word in self.words)

    def read(self, text: str) -> str:
        """Return the word as it is spelt here."""
        for word in self.words:
            if word.lower() == text.strip().lower():
                return word
        raise ValueRefusedError(f"allowed is {self.allowed}")


@dataclass(frozen=True)
class Text:
    """Any text; `trimmed` is Kafka's habit, the separator of topic names is the exception."""

    trimmed: bool = True
    allowed: str = "any text"

    def read(self, text: str) -> str:
        return text.strip() if self.trimmed else text


@dataclass(frozen=True)
class FilePath:
    """A file of this machine. A connector made over HTTP may name one only in a folder that the service allows."""

    allowed: str = "a path"

    def read(self, text: str) -> str:
        """Return the path; whether the file is there is seen where it is opened."""
        return text.strip()


@dataclass(frozen=True)
class TopicCharacters:
    """Text that can be part of a topic name."""

    allowed: str = "letters, digits, `.`, `_` and `-`"

    def read(self, text: str) -> str:
        """Return the text as it stands: a blank at its end would become part of every topic name."""
        if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return text


@dataclass(frozen=True)
class Words:
    """A list: split at commas, blanks around them dropped."""

    allowed: str = "a list, separated by commas"

    def read(self, text: str) -> tuple[str, ...]:
        """Split; an empty text is an empty list."""
        return tuple(word for word in re.split(r"\s*,\s*", text.strip()) if word)


@dataclass(frozen=True)
class TopicNames:
    """A list of topics, each by its whole name."""

    allowed: str = "names of topics (letters, digits, `.`, `_` and `-`), separated by commas"

    def read(self, text: str) -> tuple[str, ...]:
        """Split a list of topics. A text that cannot be the name of a topic is refused."""
        names = Words().read(text)
        if not all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names):
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return names


@dataclass(frozen=True)
class HostPort:
    """An address to listen at."""

    allowed: str = "HOST:PORT, such as 0.0.0.0:8084"

    def read(self, text: str) -> str:
        """Return it; nothing is looked up here."""
        word = text.strip()
        matched = _SERVER.fullmatch(word)
        if not matched or "://" in word or int(matched.group(1)) > 65535:
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return word


@dataclass(frozen=True)
class Networks:
    """Addresses and networks of the internet protocol."""

    allowed: str = "addresses or networks such as 10.0.0.7 or 10.0.0.0/8, separated by commas"

    def read(self, text: str) -> tuple[str, ...]:
        """Split and check each of them."""
        networks = Words().read(text)
        for network in networks:
            try:
                ipaddress.ip_network(network)
            except ValueError:
                raise ValueRefusedError(f"allowed is {self.allowed}") from None
        return networks


@dataclass(frozen=True)
class Servers:
    """Bootstrap addresses."""

    allowed: str = "host:port, several separated by commas"

    def read(self, text: str) -> tuple[str, ...]:
        """Split and check each address; nothing is looked up here."""
        servers = Words().read(text)
        for server in servers:
            matched = _SERVER.fullmatch(server)
            if not matched or not 0 < int(matched.group(1)) < 65536:
                raise ValueRefusedError(f"allowed is {self.allowed}")
        if not servers:
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return tuple(server.rpartition("://")[2] for server in servers)


@dataclass(frozen=True)
class Url:
    """The address of an endpoint."""

    allowed: str = "an address that begins with https:// or http://"

    def read(self, text: str) -> str:
        """Return the address; nothing is looked up here."""
        word = text.strip()
        if re.match(r"https?://[^/]*@", word):
            raise ValueRefusedError("it must not hold a user or a password")
        if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", word):
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return word


@dataclass(frozen=True)
class Regexes:
    """A list of Java regular expressions."""

    allowed: str = "a list of regular expressions (Java's), separated by commas"

    def read(self, text: str) -> tuple[str, ...]:
        """Split and compile; the refusal says which pattern, and where in it."""
        patterns = Words().read(text)
        try:
            Patterns(patterns).check()
        except RegexError as error:
            raise ValueRefusedError(_which(patterns, error)) from None
        return patterns


@dataclass(frozen=True)
class Regex:
    """One Java regular expression; a comma is part of it."""

    allowed: str = "a regular expression (Java's)"

    def read(self, text: str) -> str:
        """Compile; the refusal says what is wrong."""
        try:
            Patterns((text.strip(),)).check()
        except RegexError as error:
            raise ValueRefusedError(f"it has {error}{_meant(text.strip())}") from None
        return text.strip()


@dataclass(frozen=True)
class RenameFormat:
    """A name with a place for the topic's own."""

    allowed: str = "letters, digits, `.`, `_`, `-` and ${topic}, once"

    def read(self, text: str) -> str:
        before, mark, after = text.strip().partition(TOPIC)
        if not mark or not re.fullmatch(r"[A-Za-z0-9._-]*", before + after):
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return text.strip()


@dataclass(frozen=True)
class Overrides:
    """Replicator's exceptions from provenance."""

    allowed: str = OVERRIDES_ALLOWED

    def read(self, text: str) -> tuple[Override, ...]:
        """Read all triples; the refusal says which is wrong."""
        try:
            return parse_overrides(text)
        except ValueError as error:
            raise ValueRefusedError(str(error)) from None


@dataclass(frozen=True)
class Start:
    """A start position."""

    allowed: str = STARTS_ALLOWED

    def read(self, text: str) -> StartFrom:
        """Read a word or a time."""
        try:
            return parse_start(text)
        except ValueError:
            raise ValueRefusedError(f"allowed is {self.allowed}") from None


@dataclass(frozen=True)
class Schedule:
    """Limits by time of day."""

    allowed: str = SCHEDULE_ALLOWED

    def read(self, text: str) -> tuple[Window, ...]:
        """Read all windows; the refusal says which is wrong."""
        try:
            return parse_schedule(text)
        except ValueError as error:
            raise ValueRefusedError(str(error)) from None


@dataclass(frozen=True)
class Deletion:
    """What follows the deletion of a source topic."""

    allowed: str = DELETIONS_ALLOWED

    def read(self, text: str) -> TopicDeletion:
        """Read a word, or a word and a duration."""
        try:
            return parse_deletion(text)
        except ValueError:
            raise ValueRefusedError(f"allowed is {self.allowed}") from None


@dataclass(frozen=True)
class Mapped:
    """Text of which a function makes one of a few words (class names, mostly); None is a refusal."""

    allowed: str
    function: Callable[[str], str | None]

    def read(self, text: str) -> str:
        word = self.function(text.strip())
        if word is None:
            raise ValueRefusedError(f"allowed is {self.allowed}")
        return word


def _which(patterns: tuple[str, ...], whole: RegexError) -> str:
    for number, pattern in enumerate(patterns, 1):
        try:
            Patterns((pattern,)).check()
        except RegexError as error:
            comma = "; a comma ends a pattern, so none can contain one" if len(patterns) > 1 else ""
            return f"pattern {number} of {len(patterns)} (`{pattern}`) has {error}{comma}{_meant(pattern)}"
    return f"joined with | the patterns have {whole}"


def _meant(pattern: str) -> str:
    """Say the regular expression for a pattern that was written as shells write them."""
    if not pattern.startswith(("*", "?")):
        return ""
    expression = re.sub(r"(?<!\\)\.(?!\*)", r"\.", pattern).replace("*", ".*").replace("?", ".")
    try:
        Patterns((expression,)).check()
    except RegexError:
        return ""
    return f"; did you mean `{expression}`?"
