"""How connectors are kept in the links topic: their secrets are sealed with the secret of the group.

    config ─▶ passwords sealed (AES-GCM) ─▶ signed ─▶ links topic ─▶ signature checked ─▶ opened ─▶ config

Whoever may read the topic learns no password. Signatures are in record_signatures.py.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from twinlog.config.security.masking import is_reference, is_secret
from twinlog.config.security.secrets import MASK, Secret
from twinlog.model.connectors import LINKS_TOPIC, Connector, GroupState

_MARK: Final = "sealed:v1:"
_NONCE: Final = 12
_UNSIGNED: Final = (
    f"its record in {LINKS_TOPIC} was not signed with http.group.secret, so nobody of this group wrote it, or the "
    "secret is another one now. Look at its config, and send it again (PUT /connectors/NAME/config) if it is right"
)
_SEALED: Final = "its passwords are sealed with http.group.secret, which this service does not have"
_UNREADABLE: Final = "{key} cannot be opened with http.group.secret; send it again (PUT /connectors/NAME/config)"


class Opened(NamedTuple):
    """A connector of the topic, and why it must not run, if so."""

    connector: Connector
    trouble: str | None


@dataclass
class Seal:
    """The secret of one group, as far as the links topic is concerned. What was opened once is remembered."""

    group: str
    secret: Secret | None
    _seen: dict[str, tuple[Mapping[str, str], bool, Mapping[str, str], str | None]] = field(default_factory=dict)

    def record(self, group_state: GroupState, name: str, config: Mapping[str, str]) -> tuple[bytes, bytes | None]:
        """A connector as it is written; it is not signed yet."""
        if self.secret is None:
            return group_state.config_record(name, config)
        closed = {key: self._close(name, key, value) for key, value in config.items()}
        return group_state.config_record(name, closed)

    def leaves_open(self, config: Mapping[str, str]) -> bool:
        """Whether a password would be readable for whoever may read the topic."""
        return self.secret is None and any(_hides(key, value) for key, value in config.items())

    def opened(self, group_state: GroupState) -> list[Opened]:
        """All connectors of the topic, by name."""
        opened = []
        for name, stored in sorted(group_state.configs.items()):
            config, trouble = self._opened(name, stored, signed=group_state.signed(name))
            opened.append(Opened(Connector(name, config, group_state.state_of(name)), trouble))
        return opened

    def _opened(self, name: str, stored: Mapping[str, str], *, signed: bool) -> tuple[Mapping[str, str], str | None]:
        known = self._seen.get(name)
        if known is None or known[0] is not stored or known[1] != signed:
            known = self._seen[name] = (stored, signed, *self._read(name, stored, signed=signed))
        return known[2], known[3]

    def _read(self, name: str, stored: Mapping[str, str], *, signed: bool) -> tuple[Mapping[str, str], str | None]:
        """Open it. What cannot be opened is masked, so that nobody takes it for a password."""
        trouble = _UNSIGNED if self.secret is not None and not signed else None
        config: dict[str, str] = {}
        for key, value in stored.items():
            plain = self._open(name, key, value) if value.startswith(_MARK) else value
            config[key] = MASK if plain is None else plain
            if plain is None:
                trouble = trouble or (_SEALED if self.secret is None else _UNREADABLE.format(key=key))
        return config, trouble

    def _close(self, name: str, key: str, value: str) -> str:
        # Text that looks sealed is sealed too, or it would be taken for ours.
        if not _hides(key, value) and not value.startswith(_MARK):
            return value
        nonce = os.urandom(_NONCE)
        closed = AESGCM(self._key("seal")).encrypt(nonce, value.encode(), _place(name, key))
        return _MARK + base64.b64encode(nonce + closed).decode()

    def _open(self, name: str, key: str, value: str) -> str | None:
        if self.secret is None:
            return None
        try:
            closed = base64.b64decode(value.removeprefix(_MARK), validate=True)
            return AESGCM(self._key("seal")).decrypt(closed[:_NONCE], closed[_NONCE:], _place(name, key)).decode()
        except (ValueError, InvalidTag):
            return None

    def _key(self, what: str) -> bytes:
        root = b"" if self.secret is None else self.secret.reveal().encode()
        return hmac.digest(root, f"twinlog links {what} {self.group}".encode(), "sha256")


def _hides(key: str, value: str) -> bool:
    return bool(value) and is_secret(key) and not is_reference(value)


def _place(name: str, key: str) -> bytes:
    """A sealed text is good for one key of one connector."""
    return json.dumps([name, key]).encode()
