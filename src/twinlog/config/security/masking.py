"""Settings as they may be shown: what is secret is `***`, references to providers are as they were written (R12). Pure.

Whoever reads settings and writes them back sends `***` for a secret; that keeps what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from twinlog.config.security.secrets import MASK, without_login
from twinlog.config.text.catalogue import CATALOGUE

_SUSPECT: Final = re.compile(r"passw|secret|token|credential|jaas|private|\bkey$|api[._-]?key|\bauth\b", re.IGNORECASE)
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_PLAIN_OF_HOOKS: Final = re.compile(
    r"(?:^|\.)redirects\.[^.]+\.(?:type|timeout\.seconds|method|key|server|zone|name|record|ttl|tsig\.algorithm|ca|certificate|private\.key)$"
)
_DESTINATION: Final = re.compile(
    r"(?:^|\.)(?:bootstrap\.servers|security\.protocol|sasl\.mechanism|sasl\.oauthbearer\.token\.endpoint\.url|"
    r"sasl\.kerberos\.service\.name|ssl\.endpoint\.identification\.algorithm|ssl\.truststore\..+|connector\.class|"
    r"connection\.url|iceberg\.catalog\.(?:uri|oauth2-server-uri|s3\.endpoint)|delta\.storage\.\w*(?i:endpoint)\w*)$"
)
_IN_ADDRESS: Final = re.compile(r"(?i)\b(password|pwd|secret|token)=[^&;\s]+")
_PLAIN: Final = frozenset({"key.converter", "header.converter", "value.converter"})


@lru_cache(maxsize=4096)
def is_secret(key: str) -> bool:
    """Tell whether a value under this key must not be seen; of a key that nobody knows, by what it is called."""
    if key in _PLAIN or _PLAIN_OF_HOOKS.search(key):
        return False
    parts = key.split(".")
    endings = {".".join(parts[at:]) for at in range(len(parts))}
    known = [key for key in CATALOGUE if not key.name.endswith("*") and endings & {key.name, *key.old_names}]
    if known:
        return any(key.secret for key in known)
    families = [key for key in CATALOGUE if key.name.endswith("*") and any(key.covers(end) for end in endings)]
    return any(family.secret for family in families) or bool(_SUSPECT.search(key))


def is_reference(value: str) -> bool:
    """Whether a value is a reference to a config provider and nothing else: where a secret is, not the secret."""
    return _REFERENCE.fullmatch(value.strip()) is not None


def masked(config: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for people."""
    return {key: _shown(key, value) for key, value in config.items()}


def _shown(key: str, value: str) -> str:
    hides = is_secret(key) and value and not is_reference(value)
    return MASK if hides else _IN_ADDRESS.sub(rf"\1={MASK}", without_login(value))


def unmasked(config: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Put back what was shown as `***`: a whole value, or a password inside of an address that did not change."""
    return {
        key: before[key] if key in before and _is_kept(key, value, before[key]) else value
        for key, value in config.items()
    }


def _is_kept(key: str, value: str, before: str) -> bool:
    return (value == MASK and is_secret(key)) or (MASK in value and value == _shown(key, before))


def repointed(before: Mapping[str, str], after: Mapping[str, str], sent: Mapping[str, str | None]) -> dict[str, str]:
    """Find secrets that were kept although the client that shows them goes elsewhere: each with the key that changed.

    Whoever may change a connector need not know its passwords, and must not be able to send them to a place of theirs.
    """
    kept = [
        key
        for key, value in after.items()
        if is_secret(key) and value and before.get(key) == value and sent.get(key) in {None, MASK}
        if not is_reference(value)
    ]
    moved = [key for key in {*before, *after} if before.get(key) != after.get(key) and _says_where(key)]
    foreign: dict[str, str] = {}
    for key in kept:
        changed = sorted(name for name in moved if _end(name) == _end(key) or "both" in {_end(name), _end(key)})
        if changed:
            foreign[key] = changed[0]
    return foreign


def _says_where(key: str) -> bool:
    """Whether a key decides to whom a client shows its secret, and how openly."""
    return _DESTINATION.search(key) is not None


def _end(key: str) -> str:
    """The cluster that a key is about; `both` when the key alone does not tell."""
    if key.startswith(("source.", "src.", "consumer.")):
        return "source"
    return "target" if key.startswith(("target.", "dest.", "producer.")) else "both"


def left_masked(config: Mapping[str, str]) -> list[str]:
    """List the keys whose secret is still `***`: nobody can log in with that."""
    return [
        key
        for key, value in config.items()
        if (value == MASK and is_secret(key)) or any(MASK in matched.group() for matched in _IN_ADDRESS.finditer(value))
    ]
