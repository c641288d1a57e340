"""The retention guard: an old primary keeps everything until a failback has read it. Part of the fence.

Runs in the command that switches, and in the guard. An old primary may hold records that nobody copied. Its retention
would delete them while it waits, or in the first minutes after its return. So its topics get endless retention, and
compacted ones are not compacted, from the fence to the end of the failback.

What the configs were before is written into the journal before they are changed. Only a value that is still the guard's
is put back: what somebody set meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

from twinlog.errors import ClusterError, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.topics.configs import ConfigOrigin, TopicConfig
from twinlog.recovery.refusals import require

Former: TypeAlias = dict[str, dict[str, str | None]]
"""By topic and config: the topic's own value; None is none."""

KEEP: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
_CLEANUP: Final = "cleanup.policy"
_NO_COMPACTION: Final = "delete"


def kept_configs(admin: ClusterAdmin, topics: Collection[str]) -> Former:
    """What the guard will change, as it is now. Blocking."""
    return {topic: {name: _own(configs, name) for name in _wanted(configs)} for topic, configs in _read(admin, topics)}


def keep(admin: ClusterAdmin, former: Mapping[str, Mapping[str, str | None]]) -> None:
    """Let these topics keep everything. Blocking; doing it twice does no harm."""
    _apply(admin, {topic: {name: KEEP.get(name, _NO_COMPACTION) for name in names} for topic, names in former.items()})


def let_go(admin: ClusterAdmin, former: Mapping[str, Mapping[str, str | None]]) -> None:
    """Put back what the guard changed, where it is still the guard's value. Blocking."""
    changes: dict[str, dict[str, str | None]] = {}
    for topic, configs in _read(admin, former):
        kept = {name for name in former[topic] if _own(configs, name) == KEEP.get(name, _NO_COMPACTION)}
        changes[topic] = {name: former[topic][name] for name in kept}
    _apply(admin, {topic: values for topic, values in changes.items() if values})


def _wanted(configs: Collection[TopicConfig]) -> list[str]:
    compacts = any(config.name == _CLEANUP and "compact" in (config.value or "") for config in configs)
    return [*KEEP, _CLEANUP] if compacts else [*KEEP]


def _own(configs: Collection[TopicConfig], name: str) -> str | None:
    return next(
        (config.value for config in configs if config.name == name and config.origin is ConfigOrigin.TOPIC), None
    )


def _read(admin: ClusterAdmin, topics: Collection[str]) -> list[tuple[str, tuple[TopicConfig, ...]]]:
    kept: list[tuple[str, tuple[TopicConfig, ...]]] = []
    for topic, configs in (admin.fetch_topic_configs(topics) if topics else {}).items():
        if isinstance(configs, TopicUnknown):
            continue
        if isinstance(configs, ClusterError):
            raise configs
        kept.append((topic, configs))
    return kept


def _apply(admin: ClusterAdmin, changes: Mapping[str, Mapping[str, str | None]]) -> None:
    require(admin.apply_topic_configs(changes) if changes else {}, TopicUnknown)
