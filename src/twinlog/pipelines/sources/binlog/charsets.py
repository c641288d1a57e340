"""Character sets of MySQL and MariaDB by Python's names. Pure."""

from __future__ import annotations

from typing import Final

_CODECS: Final = {
    "latin1": "cp1252", "latin2": "iso8859_2", "latin5": "iso8859_9", "latin7": "iso8859_13", "greek": "iso8859_7",
    "hebrew": "iso8859_8", "koi8r": "koi8_r", "koi8u": "koi8_u", "ujis": "euc_jp", "eucjpms": "euc_jp",
    "sjis": "shift_jis", "cp932": "cp932", "euckr": "euc_kr", "gb2312": "gb2312", "gbk": "gbk", "gb18030": "gb18030",
    "big5": "big5", "tis620": "tis_620", "cp1250": "cp1250", "cp1251": "cp1251", "cp1256": "cp1256",
    "cp1257": "cp1257", "cp850": "cp850", "cp852": "cp852", "cp866": "cp866", "macroman": "mac_roman",
    "macce": "mac_latin2", "ucs2": "utf_16_be", "utf16": "utf_16_be", "utf16le": "utf_16_le", "utf32": "utf_32_be",
}  # fmt: skip
_UTF8: Final = frozenset({"", "utf8", "utf8mb3", "utf8mb4", "ascii", "binary"})


def codec_of(charset: str) -> str | None:
    """Python's name; None for UTF-8. Raises ValueError."""
    if charset in _UTF8:
        return None
    if charset not in _CODECS:
        raise ValueError(f"texts in the character set {charset} cannot be read")
    return _CODECS[charset]
