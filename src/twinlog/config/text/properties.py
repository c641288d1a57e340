r"""Java properties files, with the line of every key. Pure: bytes in, entries out.

The rules are those of `java.util.Properties`: Latin-1 bytes, `=`, `:` or a blank after the key, comments only at the
start of a line, `\` escapes and continuation lines. So `.*[\-\.]internal` in a file is the value `.*[-.]internal`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import StringIO

from javaproperties import InvalidUEscapeError, KeyValue, parse

from twinlog.errors import Finding

_LINE_END = re.compile(r"\r\n|\r|\n")
_LATE_COMMENT = re.compile(r"\s[#!]\s")


@dataclass(frozen=True)
class Entry:
    """One key of a file. The values stay out of `repr`: nobody knows yet whether they are secret (R12)."""

    key: str
    line: int
    value: str = field(repr=False)
    # As the file has it; differs from `value` when a provider (`${env:X}`) filled it in.
    written: str = field(repr=False)

    @property
    def provided(self) -> bool:
        """Whether the value came from outside of the file and may therefore be a secret under any key."""
        return self.value != self.written


def parse_properties(data: bytes, file: str) -> tuple[dict[str, Entry], list[Finding]]:
    """Read all keys; the last of several equal ones counts, as in Java, and the others are remarked upon."""
    entries: dict[str, Entry] = {}
    findings: list[Finding] = []
    line = 1
    text = data.decode("latin-1")
    try:
        for element in parse(StringIO(text, newline="")):
            if isinstance(element, KeyValue):
                entry = Entry(element.key, line, element.value, element.value)
                findings += _remarks(entry, entries.get(entry.key), file)
                entries[entry.key] = entry
            line += len(_LINE_END.findall(element.source))
    except InvalidUEscapeError as error:
        escape = str(error.escape)
        line = _line_of(text, escape, line)
        findings.append(Finding("error", file, line, None, f"{escape} is not an escape of the form \\uXXXX"))
    return entries, findings


def _remarks(entry: Entry, earlier: Entry | None, file: str) -> list[Finding]:
    remarks: list[Finding] = []
    if earlier is not None:
        sentence = f"also set in line {earlier.line}; this one counts"
        remarks.append(Finding("warning", file, entry.line, entry.key, sentence))
    if _LATE_COMMENT.search(entry.value):
        sentence = "a comment starts a line or is none: what follows `#` or `!` here is part of the value"
        remarks.append(Finding("warning", file, entry.line, entry.key, sentence))
    return remarks


def _line_of(text: str, escape: str, start: int) -> int:
    """Find the line of a broken escape: the parser stops somewhere in the (continued) line that begins at `start`."""
    lines = _LINE_END.split(text)
    for number in range(start, len(lines) + 1):
        if escape in lines[number - 1]:
            return number
    return start
