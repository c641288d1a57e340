"""A link together with its way back, which a switch needs whether or not the file enables it. Runs in commands."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twinlog.config.resolve import read_file, resolve
from twinlog.config.settings import LinkSettings
from twinlog.config.telling.link_way import way_to_link
from twinlog.errors import LinkUnknown, UsageError
from twinlog.model.names import LinkName
from twinlog.model.start import Earliest


@dataclass(frozen=True)
class Pair:
    """Both directions between two clusters. `back_enabled` tells whether somebody runs the way back anyway."""

    link: LinkSettings
    back: LinkSettings
    back_enabled: bool

    @property
    def name(self) -> LinkName:
        """The link that a command names."""
        return LinkName(self.link.source, self.link.target)


def load_pair(path: Path, name: str) -> Pair:
    """Read a link and its way back. Raises LinkUnknown, SettingsInvalid."""
    return resolve_pair(read_file(path), str(path), name, os.environ)


def resolve_pair(data: bytes, file: str, name: str, environment: Mapping[str, str]) -> Pair:
    """Resolve both directions of a file's text.

    A way back that the file does not enable has the settings of the link itself; its clients are those that the file
    gives to that direction.
    """
    links = {link.name: link for link in resolve(data, file, (), environment).links}
    if name not in links:
        raise LinkUnknown(name, file, ", ".join(links) or "none", way_to_link(name, links))
    link = links[name]
    back_name = LinkName(link.target, link.source)
    if str(back_name) in links:
        return Pair(link, links[str(back_name)], back_enabled=True)
    if data.lstrip().startswith(b"{"):
        raise UsageError(f"{file}: it describes one direction; a switch needs a properties file with both clusters")
    assumed = resolve(data + f"\n{back_name}.enabled = true\n".encode("latin-1"), file, (), environment).links
    back = next(link for link in assumed if link.name == str(back_name))
    there = next(link for link in assumed if link.name == name)
    naming = dataclasses.replace(link.naming, source_alias=back.source)
    clients = back.clients.model_copy(update={"admin_timeout_ms": link.clients.admin_timeout_ms})
    settings = {"source": back.source, "target": back.target, "naming": naming, "provenance": back.provenance}
    begun = link.updated(copies={"start_from": Earliest()}, mm2={"takeover": "off"})
    back = begun.model_copy(update={**settings, "clients": clients, **_without_registry(link)})
    # Both directions are copied during a failback: each must know what the other one brought.
    return Pair(link.model_copy(update={"provenance": there.provenance}), back, back_enabled=False)


def _without_registry(link: LinkSettings) -> dict[str, object]:
    """Schemas go one way. On the way back they are merged by the switch, never copied: they would overwrite others."""
    topics = dataclasses.replace(link.topics, registry=(), not_this_way=link.registry.topics)
    if not link.registry.mirrored:
        topics = link.topics
    return {"topics": topics, "registry": link.registry.model_copy(update={"mirrored": False})}


def stand_in_pair(link: LinkSettings) -> Pair:
    """A link with a way back made of its own clients: enough to look at both clusters, not to copy back."""
    clients = {"target_producer": link.clients.source_producer, "target_admin": link.clients.source_admin}
    turned = {"source": link.target, "target": link.source, **_without_registry(link)}
    back = link.updated(clients=clients).model_copy(update=turned)
    return Pair(link, back, back_enabled=False)
