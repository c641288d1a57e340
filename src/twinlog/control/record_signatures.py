"""Signatures of the records of the links topic, made with the secret of the group. Pure.

    record ─▶ {..., "number": 7, "signature": HMAC-SHA256 over group, key and all the rest}

Every record is signed: connectors, what is wanted of them, deletions, who leads, levels of logging. The number grows
with every record, so an older one cannot be brought back (model.connectors tells which record counts). Without
http.group.secret nothing is signed and every record is taken, as Kafka Connect does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from twinlog.config.security.secrets import Secret
from twinlog.model.connectors import GroupState, Prove

Record: TypeAlias = tuple[bytes, bytes | None]


@dataclass(frozen=True)
class RecordSignatures:
    """Signs and proves the records of one group."""

    group: str
    secret: Secret | None

    @property
    def proof(self) -> Prove | None:
        """How records are proven; None when they are not."""
        return None if self.secret is None else self._prove

    def sign(self, group_state: GroupState, records: Sequence[Record]) -> list[Record]:
        """The same records as they are written: behind all that the topic has."""
        if self.secret is None:
            return list(records)
        signed: list[Record] = []
        for number, (key, value) in enumerate(records, group_state.number + 1):
            content = {"deleted": True} if value is None else json.loads(value)
            content = {**content, "number": number}
            content["signature"] = self._signature(group_state.about(key), content)
            signed.append((key, json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()))
            if value is None and group_state.own_topic:
                signed.append((key, None))  # A Connect worker that reads its topic again knows no other deletion.
        return signed

    def _prove(self, what: str, record: Mapping[str, Any]) -> int | None:
        shown, number = str(record.get("signature", "")), record.get("number")
        if number is None:
            return 0 if _equal(shown, self._before_numbers(what, record)) else None
        if not isinstance(number, int) or number < 1:
            return None
        content = {key: value for key, value in record.items() if key != "signature"}
        return number if _equal(shown, self._signature(what, content)) else None

    def _signature(self, what: str, content: Mapping[str, Any]) -> str:
        return self._hmac("record", ["record", self.group, what, dict(content)])

    def _before_numbers(self, what: str, record: Mapping[str, Any]) -> str:
        """How connectors were signed before records had numbers; nothing else was."""
        return self._hmac("sign", ["connector", self.group, what.removeprefix("connector-"), record.get("properties")])

    def _hmac(self, purpose: str, content: list[Any]) -> str:
        root = b"" if self.secret is None else self.secret.reveal().encode()
        key = hmac.digest(root, f"twinlog links {purpose} {self.group}".encode(), "sha256")
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _equal(shown: str, right: str) -> bool:
    return hmac.compare_digest(shown.encode(errors="replace"), right.encode())
