r"""Java regular expressions as Python ones. Pure; the patterns of a MirrorMaker 2 file are written for Java.

The dialects agree on nearly all that topic patterns use. What differs is rewritten here: `\Q..\E` quotes, named groups,
`\p{Alpha}` and friends, `\h`, `\z`, and flags in the middle (`a(?i)b|c`: Java lets the flag live until its group ends,
across `|`; Python wants `a(?i:b)|(?i:c)`). What cannot be said in Python is refused with its position, never guessed.

Patterns also come over HTTP, and a backtracking matcher can be kept busy for years by a few characters such as `(.+)+!`
while everything else in the process waits. So Python matches only patterns whose repetitions are few and flat, as
nearly all are. The others are matched by RE2, in linear time. It has no lookaround, no references and no atomic groups:
a pattern that needs those and is not flat is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import re2

_POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": r" \t", "XDigit": "0-9a-fA-F", "Space": r"\s",
    "L": "a-zA-Z", "IsAlphabetic": "a-zA-Z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "Nd": "0-9", "IsDigit": "0-9",
}  # fmt: skip
"""Topic names are ASCII, so the Unicode categories shrink to their ASCII part."""

_SAME_ESCAPES = frozenset("dDwWsSbBAtnrfvx123456789")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_QUANTIFIER = re.compile(r"\{\d+\}|\{\d+,\d*\}")
_FEW = 2
_MOST = 3
"""Each repetition in a row multiplies the time by the length of a name, which is 249 at most."""
_MOST_OPTIONAL = 8
_TOO_MUCH = "nested or many repetitions beside lookaround, references or atomic groups, which could take for ever"
_QUIET = re2.Options()
_QUIET.log_errors = False  # what it cannot say is matched otherwise, which is nothing to write to stderr about
_FLAGS_WITHOUT_EFFECT = frozenset("duU")  # they concern line ends and Unicode case; topic names have neither


@dataclass(eq=False)
class RegexError(ValueError):
    """A pattern that Java or Python would not accept: what is wrong, and where (counted from 0)."""

    problem: str
    position: int

    def __str__(self) -> str:
        return f"{self.problem} at position {self.position + 1}"


class Matcher(Protocol):
    """A compiled pattern."""

    def fullmatch(self, text: str, /) -> object | None:
        """Return something when the whole text matches, else None."""


def compile_java(pattern: str) -> Matcher:
    r"""Compile for full matches; ASCII rules, because Java's `\w` and `(?i)` are ASCII unless told otherwise."""
    translation = _Translation(pattern)
    translated = translation.run()
    try:
        backtracking = re.compile(translated, re.ASCII)
    except re.error as error:
        position = error.pos if error.pos is not None and translated == pattern else 0
        raise RegexError(error.msg, position) from None
    if translation.is_flat(_FEW):
        return backtracking
    try:
        linear: Matcher = re2.compile("".join(translation.linear()), _QUIET)
    except re2.error:
        if not translation.is_flat(_MOST):
            raise RegexError(_TOO_MUCH, translation.nested_at or 0) from None
        return backtracking
    return linear


class _Translation:
    """One walk over a pattern, left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        # Per open group, the flag groups that a mid-pattern `(?i)` opened inside it.
        self.open_flags: list[list[str]] = [[]]
        # Per open group, whether it leaves a choice: something is repeated in it, may be absent, or has alternatives.
        self.choices: list[bool] = [False]
        self.closed_with_choice = False
        # Of the alternative of the whole pattern that has most: repetitions, and parts that may be absent.
        self.repeated, self.optional = [0], [0]
        self.nested_at: int | None = None

    def linear(self) -> Iterator[str]:
        """The same for RE2, which has another word for the end of the text."""
        yield from (r"\z" if part == r"\Z" else part for part in self.out)

    def is_flat(self, most: int) -> bool:
        """Tell whether backtracking ends soon: no repetition of something that leaves a choice, and few in a row."""
        return self.nested_at is None and max(self.repeated) <= most and max(self.optional) <= _MOST_OPTIONAL

    def run(self) -> str:
        while self.at < len(self.pattern):
            self._step()
        if len(self.open_flags) != 1:
            raise RegexError("a group that is never closed", len(self.pattern))
        self.out.append(")" * len(self.open_flags[-1]))
        return "".join(self.out)

    def _step(self) -> None:
        char, closed = self.pattern[self.at], self.closed_with_choice
        self.closed_with_choice = False
        match char:
            case "*" | "+":
                self._repeat(nested=closed)
                self._emit(char, 1)
            case "?":
                self.optional[-1] += 1
                self.choices[-1] = True
                self._emit(char, 1)
            case "\\":
                self._escape(inside_class=False)
            case "[":
                self._char_class()
            case "(":
                self._group()
            case ")":
                if len(self.open_flags) == 1:
                    raise RegexError("a closing parenthesis without an opening one", self.at)
                self._emit(")" * len(self.open_flags.pop()) + ")", 1)
                self.closed_with_choice = self.choices.pop()
                self.choices[-1] |= self.closed_with_choice
            case "|":
                flags = self.open_flags[-1]
                if len(self.open_flags) == 1:
                    self.repeated.append(0)
                    self.optional.append(0)
                self.choices[-1] = True
                self._emit(")" * len(flags) + "|" + "".join(flags), 1)
            case "{":
                # Python would take a lone brace as text; Java refuses it, and so the pattern is likely a mistake.
                matched = _QUANTIFIER.match(self.pattern, self.at)
                if matched is None:
                    raise RegexError("a brace that is no repetition such as {2}", self.at)
                self._repeat(nested=closed)
                self._emit(matched.group(), len(matched.group()))
            case _:
                self._emit(char, 1)

    def _repeat(self, *, nested: bool) -> None:
        if nested and self.nested_at is None:
            self.nested_at = self.at
        self.repeated[-1] += 1
        self.choices[-1] = True

    def _emit(self, text: str, consumed: int) -> None:
        self.out.append(text)
        self.at += consumed

    def _open(self) -> None:
        self.open_flags.append([])
        self.choices.append(False)

    def _group(self) -> None:
        rest = self.pattern[self.at :]
        named = re.match(r"\(\?<([A-Za-z][A-Za-z0-9]*)>", rest)
        if named:
            self._open()
            self._emit(f"(?P<{named.group(1)}>", len(named.group()))
            return
        flags = _FLAGS.match(self.pattern, self.at)
        if flags is None:
            self._open()
            length = 3 if rest.startswith(("(?=", "(?!", "(?>")) else 4 if rest.startswith(("(?<=", "(?<!")) else 1
            self._emit(rest[:length], length)
            return
        on = "".join(flag for flag in flags.group(1) if flag not in _FLAGS_WITHOUT_EFFECT)
        off = "".join(flag for flag in flags.group(2) or "" if flag not in _FLAGS_WITHOUT_EFFECT)
        if set(on + off) - set("imsx"):
            raise RegexError("an unknown flag", self.at)
        opening = f"(?{on}{'-' + off if off else ''}:"
        if flags.group(3) == ":":
            self._open()
        else:
            self.open_flags[-1].append(opening)
        self._emit(opening, len(flags.group()))

    def _char_class(self) -> None:
        start = self.at
        self._emit("[", 1)
        if self.pattern[self.at : self.at + 1] == "^":
            self._emit("^", 1)
        if self.pattern[self.at : self.at + 1] == "]":
            self._emit("\\]", 1)
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char == "]":
                self._emit("]", 1)
                return
            if char == "\\":
                self._escape(inside_class=True)
            elif char == "[" or self.pattern.startswith("&&", self.at):
                raise RegexError("a character class inside another one (Java only; list the characters)", self.at)
            else:
                self._emit(char, 1)
        raise RegexError("a character class that is never closed", start)

    def _escape(self, *, inside_class: bool) -> None:
        rest = self.pattern[self.at :]
        letter = rest[1:2]
        if not letter:
            raise RegexError("a backslash at the end", self.at)
        if letter == "Q":
            end = rest.find("\\E", 2)
            quoted = rest[2:] if end < 0 else rest[2:end]
            self._emit(re.escape(quoted), len(rest) if end < 0 else end + 2)
        elif letter in "pP":
            self._category(rest, inside_class=inside_class)
        elif letter == "k" and (named := re.match(r"\\k<(\w+)>", rest)):
            self._emit(f"(?P={named.group(1)})", len(named.group()))
        elif letter in "zZ" and not inside_class:
            self._emit(r"\Z", 2)
        elif letter == "h":
            self._emit(r" \t" if inside_class else r"[ \t]", 2)
        elif letter == "e":
            self._emit(r"\x1b", 2)
        elif letter in _SAME_ESCAPES or not (letter.isascii() and letter.isalnum()):
            self._emit(rest[:2], 2)
        else:
            raise RegexError(f"the escape \\{letter}, which Twinlog does not know", self.at)

    def _category(self, rest: str, *, inside_class: bool) -> None:
        matched = re.match(r"\\([pP])(?:\{(\w+)\}|([A-Z]))", rest)
        content = _POSIX.get((matched.group(2) or matched.group(3)) if matched else "")
        if matched is None or content is None or (matched.group(1) == "P" and inside_class):
            raise RegexError("a character category that Twinlog does not know", self.at)
        negated = "^" if matched.group(1) == "P" else ""
        self._emit(content if inside_class else f"[{negated}{content}]", len(matched.group()))
