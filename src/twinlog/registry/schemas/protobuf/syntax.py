"""Words, strings and numbers of a .proto text. Errors say line and column as the parser of Confluent does."""

import re
from typing import NoReturn

from twinlog.registry.schemas.schema import InvalidSchema

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*(?:\n|$)|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_INTEGER = re.compile(r"-?[0-9]+")
_HEXADECIMAL = re.compile(r"-?[0-9a-fA-F]+")
_PLAIN = re.compile(r"[^\"'\\]+")
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]{1,2}")
_OCTAL_DIGITS = re.compile(r"[0-7]{1,3}")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_INT = 2**31
_LONG = 20


class Reader:
    """A position in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def skip(self) -> None:
        """Goes over blanks and comments."""
        gap = _GAP.match(self._text, self.at)
        if gap is not None:
            self.at = gap.end()
        if self._text.startswith("/", self.at):
            if self._text.startswith("/*", self.at):
                self.at = len(self._text) - 1
                self.fail("unterminated comment")
            self.at = min(self.at + 2, len(self._text))
            self.fail("unexpected '/'")

    def exhausted(self) -> bool:
        """Whether nothing but blanks and comments is left."""
        self.skip()
        return self.at == len(self._text)

    def peek(self) -> str:
        """The next character that is not blank."""
        self.skip()
        if self.at >= len(self._text):
            self.fail("unexpected end of file")
        return self._text[self.at]

    def take(self) -> str:
        """Reads that character."""
        mark = self.peek()
        self.at += 1
        return mark

    def take_if(self, mark: str) -> bool:
        """Reads the next character if it is `mark`."""
        if self.peek() != mark:
            return False
        self.at += 1
        return True

    def require(self, mark: str) -> None:
        """Reads `mark` or fails."""
        taken = self.take()
        if taken != mark:
            self.fail(f"expected '{mark}' but was '{taken}'")

    def word(self, *, leading_digit: bool = True) -> str:
        """A name, a type or a number."""
        self.skip()
        matched = _WORD.match(self._text, self.at)
        if matched is None:
            self.fail("expected a word")
        if not leading_digit and matched[0][0].isdigit():
            self.fail("field and constant names cannot start with a digit", self.at - 1)
        self.at = matched.end()
        return matched[0]

    def name(self, *, leading_digit: bool = True, wrapped: bool = False) -> str:
        """A word that may stand in round or square brackets; `wrapped` keeps them."""
        ends = {"(": ")", "[": "]"}
        start = self.peek()
        if start not in ends:
            return self.word(leading_digit=leading_digit)
        self.at += 1
        word = self.word(leading_digit=leading_digit)
        if self.take() != ends[start]:
            self.fail(f"expected '{ends[start]}'")
        return f"{start}{word}{ends[start]}" if wrapped else word

    def data_type(self, name: str | None = None) -> str:
        """A scalar, a name of a type, or a map."""
        word = self.word() if name is None else name
        if word != "map":
            return word
        self._expect("<")
        key = self.data_type()
        self._expect(",")
        value = self.data_type()
        self._expect(">")
        return f"map<{key}, {value}>"

    def integer(self) -> int:
        """A number of 32 bits, decimal or hexadecimal."""
        word = self.word()
        number = int_of(word)
        if number is None:
            self.fail(f"expected an integer but was {word.removeprefix('0x').removeprefix('0X')}")
        return number

    def string(self) -> str:
        """A quoted text or a word."""
        return self.quoted() if self.peek() in {'"', "'"} else self.word()

    def quoted(self) -> str:
        """A quoted text; texts beside each other are one."""
        quote = self.take()
        if quote not in {'"', "'"}:
            self.fail("Check failed.")
        parts: list[str] = []
        while True:
            if self.at >= len(self._text):
                self.fail("unterminated string")
            mark = self._text[self.at]
            plain = _PLAIN.match(self._text, self.at)
            if plain is not None:
                parts.append(plain[0])
                self.at = plain.end()
                continue
            self.at += 1
            if mark == "\\":
                parts.append(self._escape())
            elif mark != quote:
                parts.append(mark)
            elif self.peek() in {'"', "'"}:
                quote = self.take()
            else:
                return "".join(parts)

    def start(self) -> int:
        """The position of what comes next, for a message."""
        self.skip()
        return self.at

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        place = self.place(self.at if at is None else at)
        raise InvalidSchema(f"Could not parse Protobuf - Syntax error in {place}: {why}")

    def place(self, at: int) -> str:
        """Line and column of a position."""
        line = self._text.count("\n", 0, at) + 1
        return f":{line}:{at - self._text.rfind(chr(10), 0, at)}"

    def _expect(self, mark: str) -> None:
        if self.take() != mark:
            self.fail(f"expected '{mark}'")

    def _escape(self) -> str:
        if self.at >= len(self._text):
            self.fail("unexpected end of file")
        letter = self._text[self.at]
        if letter in "01234567":
            digits = _OCTAL_DIGITS.match(self._text, self.at)
        elif letter in "xX":
            self.at += 1
            digits = _HEX_DIGITS.match(self._text, self.at)
        else:
            self.at += 1
            return _ESCAPES.get(letter, letter)
        if digits is None:
            self.fail("expected a digit after \\x or \\X")
        self.at = digits.end()
        return chr(int(digits[0], 16 if letter in "xX" else 8))


def int_of(word: str) -> int | None:
    """The number that a word means; None if it is none of 32 bits."""
    if word.startswith(("0x", "0X")):
        number = int(word[2:], 16) if _HEXADECIMAL.fullmatch(word, 2) and len(word) < _LONG else None  # noqa: FURB166  0x-1
    else:
        number = int(word) if _INTEGER.fullmatch(word) and len(word) < _LONG else None
    return number if number is not None and -_INT <= number < _INT else None
