"""JSON as Jackson prints it: no blanks, letters as they are up to U+FFFF, all else in capital hex."""

import json
import re
from typing import Any, Final

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_ESCAPES: Final = re.compile(r"\\(?:u00[01][0-9a-f]|.)", re.DOTALL)
_PAIRS: Final = re.compile("[\U00010000-\U0010ffff]")


def encode(value: Any) -> bytes:
    """The bytes of a JSON value."""
    text = _dumps(value)
    if "\\u00" in text:
        text = _ESCAPES.sub(_capital, text)
    if not text.isascii():
        text = _PAIRS.sub(_both_halves, text)
    # Half a surrogate pair has no bytes; Java writes a question mark.
    return text.encode("utf-8", "replace")


def _capital(matched: re.Match[str]) -> str:
    escape = matched[0]
    return escape if len(escape) == 2 else f"\\u{escape[2:].upper()}"


def _both_halves(matched: re.Match[str]) -> str:
    """Jackson writes UTF-8, but letters beyond U+FFFF as the two halves of UTF-16."""
    beyond = ord(matched[0]) - 0x10000
    return f"\\u{0xD800 + (beyond >> 10):04X}\\u{0xDC00 + (beyond & 0x3FF):04X}"
