"""JSON as Jackson prints it: no blanks, non-ASCII letters as they are, control characters in capital hex."""

import json
import re
from typing import Any, Final

_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_ESCAPES: Final = re.compile(r"\\(?:u00[01][0-9a-f]|.)", re.DOTALL)


def encode(value: Any) -> bytes:
    """The bytes of a JSON value."""
    text = _dumps(value)
    if "\\u00" in text:
        text = _ESCAPES.sub(_capital, text)
    # Half a surrogate pair has no bytes; Java writes a question mark.
    return text.encode("utf-8", "replace")


def _capital(matched: re.Match[str]) -> str:
    escape = matched[0]
    return escape if len(escape) == 2 else f"\\u{escape[2:].upper()}"
