"""What a registry needs to know, complete and checked."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from twinlog.config.security.secrets import Secret
from twinlog.config.service_settings import HttpSettings
from twinlog.config.settings import ClientSettings


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class ListenerSettings(_Frozen):
    """One address that clients reach."""

    scheme: str
    host: str
    port: int
    name: str = ""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class ListenerTls(_Frozen):
    """The certificate of the listeners with https, and who may connect."""

    chain_pem: str
    key_pem: Secret
    key_password: Secret | None = None
    trust_pem: str | None = None
    client_certificates: str = "NONE"  # NONE, REQUESTED or REQUIRED


class RegistrySettings(_Frozen):
    """A registry, as one file describes it."""

    kafka: ClientSettings
    listeners: tuple[ListenerSettings, ...]
    host_name: str
    host_port: int
    protocol: str = "http"
    topic: str = "_schemas"
    replication_factor: int = 3
    topic_configs: tuple[tuple[str, str], ...] = ()
    skip_topic_checks: bool = False
    group_id: str = "schema-registry"
    eligible: bool = True
    session_timeout_ms: int = 10_000
    timeout_ms: int = 500
    snapshot_file: Path | None = None
    subject_prefixes: tuple[str, ...] = ()
    level: str = "BACKWARD"
    mode_mutable: bool = True
    validate_fields: bool = False
    validate_names: bool = True
    encrypts: bool = False
    cache_size: int = 1000
    most_listed: int = 1000
    leader_connect_timeout_ms: int = 60_000
    leader_read_timeout_ms: int = 60_000
    forwarded_headers: tuple[str, ...] = ()
    incompatible_code: int = 409
    tls: ListenerTls | None = None
    peers_trust_pem: str | None = None
    http: HttpSettings = HttpSettings()
