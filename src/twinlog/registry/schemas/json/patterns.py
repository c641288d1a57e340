"""Regular expressions of a schema: whether Java takes one, and whether it is found in the name of a property.

No expression is run by an engine that tries alternatives without a limit: RE2 needs time in proportion to the name.
What RE2 does not know (looking ahead, references to groups) is run for expressions with few repetitions, else refused.
"""

import re
from functools import lru_cache

import re2

from twinlog.registry.schemas.json.keywords import refuse
from twinlog.registry.schemas.schema import TooComplex

_ESCAPES = frozenset("ABDGHNPQRSVWXZabcdefhknprstuvwxz")
_ESCAPES_IN_CLASS = _ESCAPES - frozenset("ABGRXZbkz")
_GROUP = re.compile(r"\?(?:<([A-Za-z][A-Za-z0-9]*)>|<?[=!]|>|([idmsuxU]*(?:-[idmsuxU]*)?)([:)]))")
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_TAIL = re.compile(
    r"x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,6}\})|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|0[0-7]{1,3}|c.|N\{[^}]+\}"
    r"|[pP](?:\{\^?([A-Za-z_=]+[A-Za-z0-9_= -]*)\}|([A-Z]))|k<([A-Za-z][A-Za-z0-9]*)>",
    re.DOTALL,
)
_LONG_ESCAPES = frozenset("xu0cNpPk")
_POSIX = frozenset(
    {
        *("Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct"),
        *("Graph", "Print", "Blank", "Cntrl", "XDigit", "Space"),
    }
)
_CATEGORIES = frozenset(
    {
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "LC", "LD", "L1", "M", "Mn", "Me", "Mc", "N", "Nd", "Nl", "No"),
        *("P", "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "S", "Sm", "Sc", "Sk", "So"),
        *("Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Co", "Cs", "Cn", "all"),
    }
)
_MOST_REPEATS = 2**31 - 1
_FEW = 3
_LONG_NAME = 200


def check_pattern(pattern: str) -> None:
    """Raises InvalidSchema where Java's Pattern does not take the expression."""
    _Scanner(pattern).run()


def matches_part_of(pattern: str, name: str) -> bool:
    """Whether the expression matches a part of `name`."""
    engine = _engine(pattern)
    if isinstance(engine, re.Pattern) and len(name) > _LONG_NAME:
        raise TooComplex(f"The regular expression {pattern} is too complex for the property {name[:50]}…")
    return engine is not None and engine.search(name) is not None


@lru_cache(maxsize=256)
def _engine(pattern: str) -> "re.Pattern[str] | None":
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return re2.compile(pattern, options)  # type: ignore[no-any-return]
    except re2.error:
        pass
    if len(re.findall(r"[*+?{|]", pattern)) > _FEW:
        raise TooComplex(f"The regular expression {pattern} is too complex to be compared")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


class _Scanner:
    """Walks over the expression once. Groups and classes are counted, not nested in calls."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._groups = 0
        self._names: set[str] = set()

    def run(self) -> None:
        repeatable = False
        while self._at < len(self._pattern):
            mark = self._pattern[self._at]
            if mark in "*+?{":
                if not repeatable:
                    self._refuse("nothing to repeat")
                self._repetition()
                repeatable = False
                continue
            self._at += 1
            repeatable = mark not in "|("
            if mark == "(":
                repeatable = self._open()
            elif mark == ")":
                self._groups -= 1
                if self._groups < 0:
                    self._refuse("a closing parenthesis without an opening one")
            elif mark == "[":
                self._class()
            elif mark == "\\":
                self._escape(_ESCAPES)
        if self._groups:
            self._refuse("a group is not closed")

    def _refuse(self, why: str) -> None:
        refuse(f"the regular expression {self._pattern[:100]} is not valid at {self._at}: {why}")

    def _repetition(self) -> None:
        if self._pattern[self._at] == "{":
            matched = _REPETITION.match(self._pattern, self._at)
            if matched is None:
                self._refuse("a repetition is not valid")
                return
            least, most = int(matched[1]), int(matched[2]) if matched[2] else None
            if least > _MOST_REPEATS or (most is not None and not least <= most <= _MOST_REPEATS):
                self._refuse("a repetition has no valid limits")
            self._at = matched.end()
        else:
            self._at += 1
        if self._pattern[self._at : self._at + 1] in {"?", "+"}:
            self._at += 1

    def _open(self) -> bool:
        """Returns whether what was read can be repeated: a change of flags can."""
        if self._pattern[self._at : self._at + 1] != "?":
            self._groups += 1
            return False
        matched = _GROUP.match(self._pattern, self._at)
        if matched is None:
            self._refuse("an unknown kind of group")
            return False
        if matched[1] is not None:
            if matched[1] in self._names:
                self._refuse(f"the name {matched[1]} is given twice")
            self._names.add(matched[1])
        self._at = matched.end()
        if matched[3] == ")":
            return False
        self._groups += 1
        return False

    def _class(self) -> None:
        depth, first, low = 1, True, ""
        if self._pattern[self._at : self._at + 1] == "^":
            self._at += 1
        while depth:
            if self._at >= len(self._pattern):
                self._refuse("a class of characters is not closed")
            mark = self._pattern[self._at]
            self._at += 1
            if mark == "[":
                depth, first, low = depth + 1, True, ""
                if self._pattern[self._at : self._at + 1] == "^":
                    self._at += 1
                continue
            if mark == "]" and not first:
                depth -= 1
                low = ""
            elif mark == "-" and low and self._pattern[self._at : self._at + 1] not in {"]", "[", "", "&"}:
                self._range(low)
                low = ""
            else:
                low = self._escape(_ESCAPES_IN_CLASS) if mark == "\\" else mark
            first = False

    def _range(self, low: str) -> None:
        mark = self._pattern[self._at]
        self._at += 1
        high = self._escape(_ESCAPES_IN_CLASS) if mark == "\\" else mark
        if not high or high < low:
            self._refuse("a range of characters runs backwards")

    def _escape(self, allowed: frozenset[str]) -> str:
        """Returns the character that is meant; nothing for a class of characters."""
        if self._at >= len(self._pattern):
            self._refuse("nothing follows a backslash")
        letter = self._pattern[self._at]
        if letter in _LONG_ESCAPES and (letter == "0" or letter in allowed):
            return self._long_escape()
        self._at += 1
        if letter == "b" and self._pattern.startswith("{g}", self._at):
            self._at += 3
            return ""
        if letter == "Q":
            end = self._pattern.find("\\E", self._at)
            self._at = len(self._pattern) if end < 0 else end + 2
            return ""
        if letter.isascii() and letter.isalpha():
            if letter not in allowed:
                self._refuse(f"unknown escape \\{letter}")
            return {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}.get(letter, "")
        if letter.isdecimal():
            if "b" not in allowed:
                self._refuse("a reference to a group inside a class of characters")
            return ""
        return letter

    def _long_escape(self) -> str:
        matched = _TAIL.match(self._pattern, self._at)
        if matched is None:
            self._refuse("an escape is not complete")
            return ""
        text = matched[0]
        name = matched[1] or matched[2]
        if name is not None and not _is_property(name):
            self._refuse(f"unknown property {name}")
        if matched[3] is not None and matched[3] not in self._names:
            self._refuse(f"there is no group {matched[3]}")
        self._at = matched.end()
        if text[0] in "xu":
            code = int(text[1:].strip("{}"), 16)
            return chr(code) if code <= 0x10FFFF else ""
        return chr(int(text, 8)) if text[0] == "0" else ""


def _is_property(name: str) -> bool:
    return "=" in name or name.startswith(("Is", "In", "java")) or name in _POSIX or name in _CATEGORIES
