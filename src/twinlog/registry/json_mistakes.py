"""The first mistake of a text that is no JSON, in the words of Jackson's parser. Pure, and only run after a failure."""

import re
from typing import Final, NoReturn

_WHERE: Final = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {}, column: {}]"
_VALUES: Final = "(JSON String, Number{}, Array, Object or token 'null', 'true' or 'false')"
_SPECIAL: Final = " (or 'NaN'/'+INF'/'-INF')"
_BLANK: Final = " \t\r\n"
_WORD: Final = re.compile(r"[\w$]+")
_WORDS: Final = frozenset({"true", "false", "null", "NaN"})
_CLOSING: Final = {"{": "}", "[": "]"}
_NAMES: Final = {"{": "Object", "[": "Array"}
_ESCAPES: Final = frozenset('"\\/bfnrt')
_HEX_DIGITS: Final = 4
_CONTROL: Final = 0x20


class Mistake(Exception):
    """What is wrong; the text is the message."""


def first_mistake(text: str, *, special: bool = True) -> str | None:
    """The message; None where nothing is wrong. `special` numbers (NaN) are read in bodies, not in schemas."""
    scan = _Scan(text, _VALUES.format(_SPECIAL if special else ""))
    try:
        scan.document()
    except Mistake as mistake:
        return str(mistake)
    return None


class _Scan:
    def __init__(self, text: str, values: str) -> None:
        self.text = text
        self.values = values
        self.at = 0
        self.open: list[tuple[str, int]] = []

    def document(self) -> None:
        """One value, and whatever stands behind it up to the first mistake."""
        self.value()
        while self.open:
            self.entry()
        if self.peek() is None:
            return
        self.value()  # what is behind it is an error in any case; a wrong token is named first

    def entry(self) -> None:
        """What follows a value in an open object or array, up to the next value."""
        kind, _ = self.open[-1]
        seen = self.peek() or self.end()
        if seen in "}]":
            self.close(seen)
            return
        if not self.fresh():
            if seen != ",":
                self.unexpected(f"was expecting comma to separate {_NAMES[kind]} entries")
            self.at += 1
        if kind == "{":
            self.name()
        self.value()

    def fresh(self) -> bool:
        """Whether nothing stands in the innermost object or array yet."""
        return not self.text[self.open[-1][1] + 1 : self.at].strip(_BLANK)

    def peek(self) -> str | None:
        """The next character that is not blank; None at the end."""
        while self.at < len(self.text):
            seen = self.text[self.at]
            if seen not in _BLANK:
                if ord(seen) < _CONTROL:
                    told = r"only regular white space (\r, \n, \t) is allowed between tokens"
                    raise Mistake(f"Illegal character ((CTRL-CHAR, code {ord(seen)})): {told}")
                if seen == "/":
                    self.unexpected(
                        "maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not "
                        "enabled for parser)"
                    )
                return seen
            self.at += 1
        return None

    def name(self) -> None:
        if (self.peek() or self.end()) != '"':
            self.unexpected("was expecting double-quote to start field name")
        self.quoted("name", "Unexpected end-of-input: was expecting closing '\"' for name")
        if (self.peek() or self.between()) != ":":
            self.unexpected("was expecting a colon to separate field name and value")
        self.at += 1
        if self.peek() is None:
            self.between()

    def value(self) -> None:
        seen = self.peek() or self.end()
        if seen in _CLOSING:
            self.open.append((seen, self.at))
            self.at += 1
        elif seen == '"':
            self.quoted("string value", "Unexpected end-of-input in VALUE_STRING")
        elif seen.isdigit() or seen in "-+":
            self.number()
        elif seen == "}" and self.open and self.open[-1][0] == "{":
            self.unexpected("expected a value")
        elif seen in "}]":
            if self.open and self.open[-1][0] == "{":
                self.unexpected(f"expected a valid value {self.values}")
            self.close(seen)
        else:
            self.word()

    def word(self) -> None:
        matched = _WORD.match(self.text, self.at)
        if matched is None:
            self.unexpected(f"expected a valid value {self.values}")
        if matched[0] not in _WORDS:
            raise Mistake(f"Unrecognized token '{matched[0]}': was expecting {self.values}")
        self.at = matched.end()

    def number(self) -> None:
        wrong = " in numeric value"
        if self.text[self.at] == "+":
            self.unexpected(
                "JSON spec does not allow numbers to have plus signs: enable "
                "`JsonReadFeature.ALLOW_LEADING_PLUS_SIGN_FOR_NUMBERS` to allow",
                wrong,
            )
        if self.text[self.at] == "-":
            self.at += 1
            if not self.digit():
                self.unexpected("expected digit (0-9) to follow minus sign, for valid numeric value", wrong)
        zero = self.text[self.at] == "0"
        self.at += 1
        if zero and self.at < len(self.text) and self.digit():
            raise Mistake("Invalid numeric value: Leading zeroes not allowed")
        self.digits()
        if self.text[self.at : self.at + 1] == ".":
            self.at += 1
            if not self.digit():
                self.unexpected("Decimal point not followed by a digit", wrong)
            self.digits()
        if self.text[self.at : self.at + 1] in {"e", "E"}:
            self.at += 1
            if self.text[self.at : self.at + 1] in {"+", "-"}:
                self.at += 1
            if not self.digit():
                self.unexpected("Exponent indicator not followed by a digit", wrong)
            self.digits()
        following = self.text[self.at : self.at + 1]
        if following and following not in f"{_BLANK},:]}}" and not self.open:
            self.unexpected("Expected space separating root-level values")

    def digit(self) -> bool:
        """Whether a digit is next. Raises Mistake at the end of the text."""
        if self.at >= len(self.text):
            raise Mistake("Unexpected end-of-input in null")
        return self.text[self.at] in "0123456789"

    def digits(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1

    def quoted(self, what: str, unclosed: str) -> None:
        self.at += 1
        while self.at < len(self.text):
            seen = self.text[self.at]
            self.at += 1
            if seen == '"':
                return
            if ord(seen) < _CONTROL:
                told = f"has to be escaped using backslash to be included in {what}"
                raise Mistake(f"Illegal unquoted character ((CTRL-CHAR, code {ord(seen)})): {told}")
            if seen == "\\":
                self.escape(unclosed)
        raise Mistake(unclosed)

    def escape(self, unclosed: str) -> None:
        if self.at >= len(self.text):
            raise Mistake(unclosed)
        seen = self.text[self.at]
        if seen != "u" and seen not in _ESCAPES:
            raise Mistake(f"Unrecognized character escape {_shown(seen)}")
        self.at += 1
        for _ in range(_HEX_DIGITS if seen == "u" else 0):
            if self.at >= len(self.text):
                raise Mistake(unclosed)
            if self.text[self.at] not in "0123456789abcdefABCDEF":
                self.unexpected("expected a hex-digit for character escape sequence")
            self.at += 1

    def close(self, seen: str) -> None:
        if not self.open:
            name = "Object" if seen == "}" else "Array"
            raise Mistake(f"Unexpected close marker '{seen}': no open {name} to close")
        kind, start = self.open[-1]
        if _CLOSING[kind] != seen:
            told = f"expected '{_CLOSING[kind]}' (for {_NAMES[kind]} starting at {self.where(start)})"
            raise Mistake(f"Unexpected close marker '{seen}': {told}")
        self.open.pop()
        self.at += 1

    def where(self, place: int) -> str:
        return _WHERE.format(self.text.count("\n", 0, place) + 1, place - self.text.rfind("\n", 0, place))

    def between(self) -> NoReturn:
        raise Mistake("Unexpected end-of-input within/between Object entries")

    def end(self) -> NoReturn:
        if not self.open:
            raise Mistake("Unexpected end-of-input")
        kind, start = self.open[-1]
        marker = f"(start marker at {self.where(start)})"
        raise Mistake(f"Unexpected end-of-input: expected close marker for {_NAMES[kind]} {marker}")

    def unexpected(self, told: str, where: str = "") -> NoReturn:
        if self.at >= len(self.text):
            self.end()
        raise Mistake(f"Unexpected character ({_shown(self.text[self.at])}){where}: {told}")


def _shown(character: str) -> str:
    code = ord(character)
    return f"'{character}' (code {code}{f' / {code:#x}' if code > 255 else ''})"
