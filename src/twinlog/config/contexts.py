"""Settings files by name, so that a command need not be told each time which one it is about.

Kept in `contexts.json` of the user's configuration folder (XDG_CONFIG_HOME). Of several answers the strongest counts:
`--config`, TWINLOG_CONFIG, the context that TWINLOG_CONTEXT names, the context in use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from twinlog.errors import UsageError

CONFIG_VARIABLE: Final = "TWINLOG_CONFIG"
CONTEXT_VARIABLE: Final = "TWINLOG_CONTEXT"


@dataclass(frozen=True)
class Contexts:
    """All names with their files, and the one in use."""

    files: Mapping[str, str] = field(default_factory=dict)
    used: str | None = None

    def add(self, name: str, file: Path) -> Contexts:
        """Name a file; the first one is in use at once."""
        return Contexts({**self.files, name: str(file.absolute())}, self.used or name)

    def use(self, name: str) -> Contexts:
        """Choose one."""
        self.file_of(name)
        return replace(self, used=name)

    def remove(self, name: str) -> Contexts:
        """Forget a name; the file stays."""
        self.file_of(name)
        left = {one: file for one, file in self.files.items() if one != name}
        return Contexts(left, None if self.used == name else self.used)

    def file_of(self, name: str) -> str:
        """Return the path under this name."""
        if name not in self.files:
            known = ", ".join(sorted(self.files)) or "none"
            raise UsageError(f"{name}: no such context (there are: {known}); add it with `twinlog context add`")
        return self.files[name]

    def chosen(self, environment: Mapping[str, str]) -> str | None:
        """Return the file for a command without --config; None when nobody named one."""
        if environment.get(CONFIG_VARIABLE):
            return environment[CONFIG_VARIABLE]
        name = environment.get(CONTEXT_VARIABLE) or self.used
        return None if name is None else self.file_of(name)


_KEPT: Final = TypeAdapter(Contexts)


def contexts_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where they are kept."""
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "twinlog" / "contexts.json"


def load_contexts(path: Path) -> Contexts:
    """Read them; none when there is no file yet."""
    try:
        return _KEPT.validate_json(path.read_bytes())
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise UsageError(f"{path}: the contexts cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise UsageError(f"{path}: it does not hold contexts; mend or delete the file") from error


def save_contexts(path: Path, contexts: Contexts) -> None:
    """Write them; whoever reads meanwhile sees all or nothing of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        text = json.dumps({"files": dict(contexts.files), "used": contexts.used}, indent=2) + "\n"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: the contexts cannot be written ({error.strerror})") from error
