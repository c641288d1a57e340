"""How services of one group know each other: a shared secret signs what one passes on to the other.

The links topic says who leads, and whoever may write to that topic could say anything. A leader is believed when its
record is signed with the group's secret (record_signatures.py), or when its address is on the list in the settings
file. What a standby passes on carries no login of anybody: the standby has checked who asks, says so, and signs it, as
Kafka Connect's workers do.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from twinlog.config.security.secrets import Secret
from twinlog.control.audit import RANKS, Grant, Who
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.connectors import GroupState
from twinlog.model.selection import Patterns

WHO: Final = "x-twinlog-who"
AT: Final = "x-twinlog-at"
BODY: Final = "x-twinlog-body"
SIGNATURE: Final = "x-twinlog-signature"
_GOOD_FOR_S: Final = 60.0
_SERVICE: Final = "twinlog-service"
_PARTS: Final = 3


@dataclass(frozen=True)
class GroupTrust:
    """What the services of a group share; without a secret and a list nobody is believed."""

    group: str = ""
    secret: Secret | None = None
    urls: tuple[str, ...] = ()
    now: Callable[[], float] = SYSTEM_CLOCK.now_s

    def believes(self, group_state: GroupState) -> bool:
        """Whether a service of the group said who leads."""
        leader = group_state.leader
        return leader is not None and (leader.url in self.urls or group_state.proves_leader)

    def announcement(self, instance: str, url: str | None) -> str:
        """What a service that can run connectors announces to its group."""
        return "|".join((_SERVICE, instance, url or "", self._sign("service", self.group, instance, url or "")))

    def announced(self, text: str) -> tuple[str, str | None] | None:
        """Instance and address of a service; None for what no service of this group announced."""
        word, *parts = text.split("|")
        if word != _SERVICE or len(parts) != _PARTS:
            return None
        instance, url, signature = parts
        is_proven = self.secret is None or _equal(signature, self._sign("service", self.group, instance, url))
        return (instance, url or None) if is_proven else None

    def sign_report(self, instance: str, text: str) -> str:
        """Sign what a service tells of its connectors."""
        return self._sign("report", self.group, instance, text)

    def proves_report(self, instance: str, text: str, signature: str) -> bool:
        """Whether a service of the group told that; without a secret everybody is believed, as Kafka Connect does."""
        return self.secret is None or _equal(signature, self.sign_report(instance, text))

    def pass_on(self, method: str, target: str, body: bytes, who: Who) -> dict[str, str]:
        """The headers of a request that is passed on for somebody."""
        said = base64.urlsafe_b64encode(json.dumps(asdict(who)).encode()).decode()
        headers = {WHO: said, AT: f"{self.now():.0f}", BODY: digest(body)}
        return headers | {SIGNATURE: self._sign(*self._request(method, target, headers))}

    def read(self, method: str, target: str, headers: Mapping[str, str]) -> Who | None:
        """Return for whom a request was passed on; None when nobody of the group signed it, or not just now."""
        signature = headers.get(SIGNATURE, "")
        if self.secret is None or not _equal(signature, self._sign(*self._request(method, target, headers))):
            return None
        try:
            if abs(self.now() - float(headers.get(AT, ""))) > _GOOD_FOR_S:
                return None
            return _who(json.loads(base64.urlsafe_b64decode(headers.get(WHO, ""))))
        except (ValueError, KeyError, TypeError):
            return None

    def _request(self, method: str, target: str, headers: Mapping[str, str]) -> tuple[str, ...]:
        return "request", self.group, method, target, *(headers.get(name, "") for name in (WHO, AT, BODY))

    def _sign(self, *parts: str) -> str:
        key = b"" if self.secret is None else self.secret.reveal().encode()
        # The length of each part comes first, so that no two lists of parts read alike.
        text = b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in parts)
        return hmac.new(key, text, hashlib.sha256).hexdigest()


def digest(body: bytes) -> str:
    """What a signature says about a body."""
    return hashlib.sha256(body).hexdigest()


def _equal(shown: str, right: str) -> bool:
    return hmac.compare_digest(shown.encode(), right.encode())


def _who(document: dict[str, Any]) -> Who | None:
    grants = tuple(
        Grant(grant["role"], None if grant["links"] is None else Patterns(tuple(grant["links"]["patterns"])))
        for grant in document.pop("grants")
    )
    who = Who(**document, grants=grants)
    return who if all(grant.role in RANKS for grant in who.allowed) else None
