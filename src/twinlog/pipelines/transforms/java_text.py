"""Java's regular expressions and replacements in Python's words, as far as names of topics need them. Pure."""

from __future__ import annotations

import re


def java_pattern(text: str) -> re.Pattern[str]:
    """A pattern of Java. Raises ValueError with what is wrong."""
    python = re.sub(r"\(\?<([A-Za-z][A-Za-z0-9]*)>", r"(?P<\1>", text)
    try:
        return re.compile(python)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error


def java_replacement(text: str) -> str:
    """`$1` and `${name}` of Java as Python's group references; a backslash makes the next sign plain."""
    made: list[str] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and at + 1 < len(text):
            made.append(_plain(text[at + 1]))
            at += 2
        elif sign == "$":
            named = re.match(r"\$\{([A-Za-z][A-Za-z0-9]*)\}|\$([0-9])", text[at:])
            if named is None:
                raise ValueError(f"{text!r}: $ must be followed by a group")
            made.append(f"\\g<{named.group(1) or named.group(2)}>")
            at += named.end()
        else:
            made.append(_plain(sign))
            at += 1
    return "".join(made)


def _plain(sign: str) -> str:
    return "\\\\" if sign == "\\" else sign
