"""Who an instance is to the others of its group, and whom they elect: Confluent's protocol `sr`, version 0. Pure."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PROTOCOL_TYPE: Final = "sr"
PROTOCOL: Final = "v0"
NO_ERROR: Final = 0
DUPLICATE_URLS: Final = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """The address under which other instances reach this one."""

    host: str
    port: int
    eligible: bool = True
    scheme: str = "http"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def json(self, *, leader: bool = False) -> dict[str, Any]:
        """In Confluent's order of fields."""
        return {
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.eligible,
            "scheme": self.scheme,
            "version": 1,
            "leader": leader,
        }

    def metadata(self, *, leader: bool) -> bytes:
        """What this instance says when it joins; `leader` keeps the leadership where it is."""
        return _encode(self.json(leader=leader))


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who leads. Nobody, when no member may (`leader` is None) or when two have one address."""

    error: int
    member: str | None
    leader: Identity | None


def identity_of(data: Mapping[str, Any]) -> Identity:
    """Raises ValueError for what is no identity. Fields that are not known are passed over."""
    try:
        eligible = data.get("master_eligibility", data.get("leader_eligibility", True))
        return Identity(str(data["host"]), int(data["port"]), bool(eligible), str(data.get("scheme") or "http"))
    except (KeyError, TypeError) as wrong:
        raise ValueError(f"no identity of a registry: {wrong}") from None


def elect(members: Mapping[str, bytes]) -> bytes:
    """The assignment for all: the leader of before if it is there, else the smallest address of those that may lead."""
    identities: dict[str, tuple[Identity, bool]] = {}
    for member, data in members.items():
        with contextlib.suppress(ValueError):  # who cannot say who it is cannot lead
            said = json.loads(data)
            identities[member] = (identity_of(said), bool(said.get("leader", False)))
    urls = [identity.url for identity, _ in identities.values()]
    if len(set(urls)) < len(urls):
        return _encode({"error": DUPLICATE_URLS, "version": 1})
    able = [(identity.url, member) for member, (identity, _) in identities.items() if identity.eligible]
    stay = [(identity.url, member) for member, (identity, led) in identities.items() if identity.eligible and led]
    if not able:
        return _encode({"error": NO_ERROR, "version": 1})
    _, member = min(stay if len(stay) == 1 else able)
    said = json.loads(members[member])
    return _encode({"error": NO_ERROR, "master": member, "master_identity": said, "version": 1})


def assignment_of(data: bytes) -> Assignment:
    """What the member who computed it decided. Raises ValueError."""
    said = json.loads(data)
    given = said.get("master_identity")
    error = int(said.get("error", NO_ERROR))
    return Assignment(error, said.get("master"), None if given is None else identity_of(given))


def decoded(data: bytes) -> dict[str, Any]:
    """What a member said. Raises ValueError."""
    said = json.loads(data)
    if not isinstance(said, dict):
        raise ValueError("no identity of a registry: no JSON object")  # noqa: TRY004  one error for all that is none
    return said


def _encode(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
