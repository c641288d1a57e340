"""Which settings and which mode apply to a subject: its own, else its context's, else those of all contexts. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from twinlog.registry.records import CONFIG_FIELDS
from twinlog.registry.state import State
from twinlog.registry.subject_names import DEFAULT, GLOBAL, GLOBAL_SCOPE, split

LEVELS: Final = frozenset(
    {"NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"}
)
MODES: Final = frozenset({"READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"})
READ_ONLY: Final = frozenset({"READONLY", "READONLY_OVERRIDE"})
IMPORTING: Final = frozenset({"IMPORT", "FORWARD"})


def config_in_scope(state: State, subject: str | None, default_level: str) -> Mapping[str, Any]:
    """The settings that apply; `compatibilityLevel` is always there."""
    for scope in _scopes(subject):
        config = state.configs.get(scope)
        if config is not None:
            return _with_level(config, default_level)
    return {"compatibilityLevel": default_level}


def own_config(state: State, subject: str | None, default_level: str) -> Mapping[str, Any] | None:
    """The settings of exactly this scope; of the top levels the default, where nothing is set."""
    config = state.configs.get(subject)
    if config is None:
        return {"compatibilityLevel": default_level} if _is_top(subject) else None
    return _with_level(config, default_level)


def _with_level(config: Mapping[str, Any], default_level: str) -> Mapping[str, Any]:
    if "" in config.values():  # an empty alias or group is answered once, when it is set
        config = {name: value for name, value in config.items() if value != ""}
    if "compatibilityLevel" in config:
        return config
    whole = {**config, "compatibilityLevel": default_level}
    return {name: whole[name] for name in CONFIG_FIELDS if name in whole}


def mode_in_scope(state: State, subject: str | None) -> str:
    """READONLY_OVERRIDE of the default context wins over every subject's own mode."""
    if state.modes.get(None) == "READONLY_OVERRIDE":
        return "READONLY_OVERRIDE"
    for scope in _scopes(subject):
        mode = state.modes.get(scope)
        if mode is not None:
            return mode
    return "READWRITE"


def own_mode(state: State, subject: str | None) -> str | None:
    """The mode of exactly this scope; of the top levels READWRITE, where nothing is set."""
    if state.modes.get(None) == "READONLY_OVERRIDE":
        return "READONLY_OVERRIDE"
    mode = state.modes.get(subject)
    return "READWRITE" if mode is None and _is_top(subject) else mode


def _scopes(subject: str | None) -> tuple[str | None, ...]:
    if subject is None:
        return (None, GLOBAL_SCOPE)
    name = split(subject)
    return (subject, None if name.context == DEFAULT else name.scope, GLOBAL_SCOPE)


def _is_top(subject: str | None) -> bool:
    return subject is None or split(subject).context == GLOBAL
