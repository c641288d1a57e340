"""Settings files and services by name, so that a command needs no --config.

Kept in `contexts.json` of the user's configuration folder (XDG_CONFIG_HOME). Of several answers the strongest counts:
the option (`--config`, `--service`), the variable (TWINLOG_CONFIG, TWINLOG_SERVICE), the context that TWINLOG_CONTEXT
names, the context in use. Read at every start and behind every TAB, so it needs nothing that is slow to load.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from twinlog.errors import UsageError

CONFIG_VARIABLE: Final = "TWINLOG_CONFIG"
CONTEXT_VARIABLE: Final = "TWINLOG_CONTEXT"


@dataclass(frozen=True)
class ServiceAddress:
    """Where a running service answers, and the files that open it. Secrets stay in their files (R12)."""

    url: str
    token_file: str | None = None
    ca: str | None = None
    certificate: str | None = None
    user: str | None = None
    password_file: str | None = None


@dataclass(frozen=True)
class Contexts:
    """All names with their files and services, and the one in use. A name has a file, a service, or both."""

    files: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, ServiceAddress] = field(default_factory=dict)
    used: str | None = None

    @property
    def names(self) -> list[str]:
        """All of them, sorted."""
        return sorted({*self.files, *self.services})

    def add(self, name: str, file: Path | None, service: ServiceAddress | None = None) -> Contexts:
        """Name a file, a service or both; the first one is in use at once."""
        files = {known: at for known, at in self.files.items() if known != name}
        services = {known: at for known, at in self.services.items() if known != name}
        if file is not None:
            files[name] = str(file.absolute())
        if service is not None:
            services[name] = service
        return Contexts(files, services, self.used or name)

    def use(self, name: str) -> Contexts:
        return replace(self, used=self._known(name))

    def remove(self, name: str) -> Contexts:
        """Forget a name; the file stays."""
        self._known(name)
        files = {known: at for known, at in self.files.items() if known != name}
        services = {known: at for known, at in self.services.items() if known != name}
        return Contexts(files, services, None if self.used == name else self.used)

    def named(self, environment: Mapping[str, str]) -> str | None:
        """Return the name that counts now; None when nobody chose one."""
        name = environment.get(CONTEXT_VARIABLE) or self.used
        return None if name is None else self._known(name)

    def chosen(self, environment: Mapping[str, str]) -> str | None:
        """Return the file for a command without --config; None when nobody named one."""
        if environment.get(CONFIG_VARIABLE):
            return environment[CONFIG_VARIABLE]
        name = self.named(environment)
        return None if name is None else self.files.get(name)

    def service(self, environment: Mapping[str, str]) -> ServiceAddress | None:
        """Return the service for a command without --service; None when the context has none."""
        name = self.named(environment)
        return None if name is None else self.services.get(name)

    def _known(self, name: str) -> str:
        if name not in self.files and name not in self.services:
            known = ", ".join(self.names) or "none"
            raise UsageError(f"{name}: no such context (there are: {known}); add it with `twinlog context add`")
        return name


def contexts_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where they are kept."""
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "twinlog" / "contexts.json"


def load_contexts(path: Path) -> Contexts:
    """Read them; none when there is no file yet."""
    try:
        return _parsed(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise UsageError(f"{path}: the contexts cannot be read ({error.strerror})") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path}: it does not hold contexts; fix or delete the file") from error


def save_contexts(path: Path, contexts: Contexts) -> None:
    """Write them; whoever reads meanwhile sees all or nothing of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(as_json(contexts), indent=2) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: the contexts cannot be written ({error.strerror})") from error


def as_json(contexts: Contexts) -> dict[str, Any]:
    """What is kept, and what programs are told."""
    services = {
        name: {key: value for key, value in asdict(address).items() if value is not None}
        for name, address in contexts.services.items()
    }
    return {"files": dict(contexts.files), "services": services, "used": contexts.used}


def _parsed(document: Any) -> Contexts:
    if not isinstance(document, dict):
        raise TypeError
    files, services, used = document.get("files", {}), document.get("services", {}), document.get("used")
    if not isinstance(files, dict) or not isinstance(services, dict) or not isinstance(used, str | None):
        raise TypeError
    if not all(isinstance(service, dict) for service in services.values()):
        raise TypeError
    allowed = {attribute.name for attribute in fields(ServiceAddress)}
    values = [*files.values(), *(value for service in services.values() for value in service.values())]
    if not all(isinstance(value, str) for value in values):
        raise TypeError
    addresses = {
        name: ServiceAddress(**{key: value for key, value in address.items() if key in allowed})
        for name, address in services.items()
    }
    return Contexts(files, addresses, used)
