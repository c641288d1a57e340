"""Settings as they may be shown: what is secret is `***`, references to providers are as they were written (R12). Pure.

Whoever reads settings and writes them back sends `***` for a secret; that keeps what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from twinlog.config.catalogue import CATALOGUE
from twinlog.config.secrets import MASK

_SUSPECT: Final = re.compile(r"passw|secret|token|credential|jaas|private|\bkey$|api[._-]?key|\bauth\b", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_PLAIN: Final = frozenset({"key.converter", "header.converter", "value.converter"})


def is_secret(key: str) -> bool:
    """Tell whether a value under this key must not be seen; of a key that nobody knows, by what it is called."""
    if key in _PLAIN:
        return False
    parts = key.split(".")
    endings = {".".join(parts[at:]) for at in range(len(parts))}
    known = [one for one in CATALOGUE if not one.name.endswith("*") and endings & {one.name, *one.old_names}]
    if known:
        return any(one.secret for one in known)
    families = [one for one in CATALOGUE if one.name.endswith("*") and any(one.covers(end) for end in endings)]
    return any(one.secret for one in families) or bool(_SUSPECT.search(key))


def masked(config: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for people."""
    return {key: _shown(key, value) for key, value in config.items()}


def _shown(key: str, value: str) -> str:
    return MASK if is_secret(key) and value and not _REFERENCE.fullmatch(value.strip()) else value


def unmasked(config: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Put back what was shown as `***`."""
    return {
        key: before[key] if value == MASK and key in before and is_secret(key) else value
        for key, value in config.items()
    }


def left_masked(config: Mapping[str, str]) -> list[str]:
    """List the keys whose secret is still `***`: nobody can log in with that."""
    return [key for key, value in config.items() if value == MASK and is_secret(key)]
