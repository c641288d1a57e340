"""The registry that `twinlog run --listen` serves beside its links: read from the same file."""

from __future__ import annotations

from typing import Final

from twinlog.config.foreign import schema_registry_keys as server_keys
from twinlog.config.foreign.schema_registry import resolve_entries
from twinlog.config.registry_settings import RegistrySettings
from twinlog.config.resolve import Resolved
from twinlog.config.text import registry_keys as keys
from twinlog.config.text.properties import Entry
from twinlog.errors import UsageError

_SERVER: Final = keys.SERVER.name[:-1]
_OF_THE_SERVICE: Final = ("http.", "role.")
_OWN: Final = {
    keys.LISTENERS.name: server_keys.LISTENERS.name,
    keys.TOPIC.name: server_keys.TOPIC.name,
    keys.GROUP_ID.name: server_keys.GROUP_ID.name,
}


def registry_beside(file: Resolved) -> RegistrySettings | None:
    """The settings of the registry; None when the file wants none. Raises SettingsInvalid and UsageError."""
    lookup = file.draft.lookup
    if keys.LISTENERS.name not in lookup.entries:
        return None
    cluster = _cluster(file)
    own: dict[str, Entry] = {}
    for name, entry in lookup.entries.items():
        if name in _OWN:
            own[_OWN[name]] = entry
        elif name.startswith(_SERVER):
            own[name.removeprefix(_SERVER)] = entry
        elif name.startswith(_OF_THE_SERVICE):
            own[name] = entry
        elif name.startswith(f"{cluster}.") and "->" not in name:
            own[f"kafkastore.{name.removeprefix(f'{cluster}.')}"] = entry
    settings, _ = resolve_entries(own, lookup.file)
    prefixed = [link for link in file.links if link.target == cluster and link.naming.policy == "default"]
    prefixes = tuple(f"{link.source}{link.naming.separator}" for link in prefixed)
    return settings.model_copy(update={"subject_prefixes": settings.subject_prefixes or prefixes})


def _cluster(file: Resolved) -> str:
    entry = file.draft.lookup.entries.get(keys.CLUSTER.name)
    if entry is not None:
        return entry.value.strip()
    if not file.links:
        raise UsageError(f"{file.draft.lookup.file}: name the cluster of the registry with {keys.CLUSTER.name}")
    return file.links[0].target
