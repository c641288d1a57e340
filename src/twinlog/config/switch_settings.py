"""How a link is switched, complete and checked. Frozen; travels with the link's settings."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from twinlog.config.security.secrets import Secret
from twinlog.model.switch.redirects import HookKind

FenceMeans: TypeAlias = Literal["auto", "acl", "topic-config", "none"]
Reverse: TypeAlias = Literal["auto", "start", "stop"]
TailPolicy: TypeAlias = Literal["append", "keep"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class Redirect(_Frozen):
    """One hook that tells clients where to go. Which fields count depends on its kind."""

    name: str
    kind: HookKind
    timeout_seconds: int = 30
    command: tuple[str, ...] = ()
    # Addresses and bodies of web hooks often are secrets themselves.
    url: Secret | None = None
    method: str = "POST"
    headers: dict[str, Secret] = Field(default_factory=dict)
    body: Secret | None = None
    # Asked afterwards; the answer must contain `verify_contains`.
    verify_url: Secret | None = None
    verify_contains: str = "{active}"
    key: str | None = None
    # What is written; `values` for single clusters win. Absent: their bootstrap servers.
    value: str | None = None
    values: dict[str, str] = Field(default_factory=dict)
    server: str | None = None
    zone: str | None = None
    record_name: str | None = None
    record: str = "CNAME"
    ttl: int = 30
    tsig_name: str | None = None
    tsig_secret: Secret | None = None
    tsig_algorithm: str = "hmac-sha256"
    user: str | None = None
    password: Secret | None = None
    token: Secret | None = None
    # PEM files, read when the hook is called: whom to believe beside the system's authorities, and who we are.
    ca: str | None = None
    certificate: str | None = None
    private_key: str | None = None
    # Addresses that may be asked, and all below them. Empty: any.
    allowed_urls: tuple[str, ...] = ()


class SwitchSettings(_Frozen):
    """How producers are shut out, what becomes of the other direction and of a tail, whom the switch tells."""

    fence: FenceMeans = "auto"
    # Principals that a fence by ACL never shuts out. Empty: the one that the link writes with.
    principals: tuple[str, ...] = ()
    reverse: Reverse = "auto"
    tail: TailPolicy = "append"
    # Where a divergent tail is exported to, besides the file.
    tail_topic: str | None = None
    # How long the side that was left stays shut when nothing can tell the link from late producers.
    grace_seconds: int = 30
    # Longest wait of one step.
    timeout_seconds: int = 600
    redirects: tuple[Redirect, ...] = ()
    # Signs the switch log of the pair. Without one every entry counts.
    secret: Secret | None = None
