"""What a connector's configuration means: where each value comes from, how it delivers, where positions are. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from twinlog.config.security.masking import masked
from twinlog.config.security.secrets import MASK, Secret
from twinlog.pipelines.chain import listed, under
from twinlog.pipelines.connector import CommonSettings, Connector
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.plugins import find
from twinlog.pipelines.run import ErrorSettings
from twinlog.pipelines.settings import facts_of, keys_of
from twinlog.pipelines.worker_settings import Worker

_DELIVERY: Final = {
    "exactly-once": "exactly once: the target stores the records and their positions together",
    "idempotent": "repeats are harmless: a record that comes again has the same id and version",
    "at-least-once": "at least once: a crash may repeat the last records",
}
_OF_SOURCE: Final = "exactly once for readers of committed records: records and positions are in one Kafka transaction"


def explained(connector: Connector, worker: Worker) -> dict[str, Any]:
    """All facts of one connector, for people. Secrets are masked. Raises SettingsRefused."""
    made: Any = make_connector(connector.common.plugin, connector.config)
    plugin = find(connector.common.plugin, "source", "sink")
    facts: dict[str, Any] = {
        "name": connector.name,
        "what it is": f"{connector.kind}: {plugin.name}",
        "delivery": _OF_SOURCE if connector.kind == "source" else _DELIVERY[made.delivery],
        "positions": _positions(connector, worker, made),
        "bad records": _errors(connector),
        "tasks": _tasks(connector, made),
        "key": find(connector.converters.key, "converter").name,
        "value": find(connector.converters.value, "converter").name,
        "transforms": [
            f"{name}: {under(connector.config, f'transforms.{name}.').get('type', '')}"
            for name in listed(connector.config, "transforms")
        ],
    }
    if connector.kind == "sink":
        common = connector.common
        facts["topics"] = ", ".join(common.topics) or f"every topic whose name matches {common.topics_regex}"
    facts["settings"] = [
        setting
        for kind in (type(made).settings, CommonSettings, ErrorSettings)
        for setting in _settings(kind, connector)
    ]
    return facts


def _positions(connector: Connector, worker: Worker, made: Any) -> str:
    if connector.kind == "source":
        return f"topic {connector.config.get('offsets.storage.topic', worker.offsets_topic)}, as Connect writes them"
    group = f"group {connector.group}"
    return f"in the target; {group} shows them" if made.delivery == "exactly-once" else group


def _errors(connector: Connector) -> str:
    its = connector.errors
    if its.tolerance == "none":
        where = "partition" if connector.kind == "sink" else "task"
        return f"a bad record stops its {where}, in front of the record"
    return f"parked in topic {its.dead_letters}" if its.dead_letters else "left out and counted; nothing keeps them"


def _tasks(connector: Connector, made: Any) -> str:
    most = getattr(made, "max_tasks", None)
    wished = connector.common.tasks
    return f"{most}, because only one may write this target" if most == 1 and wished > 1 else f"at most {wished}"


def _settings(kind: type, connector: Connector) -> list[dict[str, str]]:
    rows = []
    shown = masked(connector.config)
    for facts, its in facts_of(kind).values():
        if facts.is_family:
            keys = [key for key in connector.config if key.startswith(facts.key[:-1]) and key not in keys_of(kind)]
            rows += [
                {"key": key, "value": shown[key], "from": "configuration", "meaning": facts.doc} for key in sorted(keys)
            ]
            continue
        given = next((key for key in (facts.key, *facts.also) if key in connector.config), None)
        default = "" if its.default is dataclasses.MISSING else its.default
        secret = isinstance(default, Secret) or "Secret" in str(its.type)
        if given is not None:
            value = MASK if secret else shown[given]
        else:
            value = "" if secret else ",".join(default) if isinstance(default, tuple) else str(default)
        origin = "default" if given is None else "configuration"
        rows.append({"key": given or facts.key, "value": value, "from": origin, "meaning": facts.doc})
    return rows
