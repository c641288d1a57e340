"""All plugins: connectors, converters, transforms and predicates, ours and those of installed packages.

A plugin of ours is one line in `_OWN`. Others are found by entry points (`twinlog.sources` and so on). A package that
cannot be loaded is a finding, not a crash.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias, cast

from twinlog.pipelines.api import Converter, Predicate, Sink, Source, Transform
from twinlog.pipelines.settings import Finding, SettingsRefused, read_settings

Kind: TypeAlias = Literal["source", "sink", "converter", "transformation", "predicate"]
_GROUPS: Final[dict[str, Kind]] = {
    "twinlog.sources": "source",
    "twinlog.sinks": "sink",
    "twinlog.converters": "converter",
    "twinlog.transforms": "transformation",
    "twinlog.predicates": "predicate",
}
_OWN: Final[dict[Kind, tuple[str, ...]]] = {
    "source": (
        "twinlog.pipelines.sources.file_stream:FileStreamSource",
        "twinlog.pipelines.sources.jdbc.source:JdbcSource",
        "twinlog.pipelines.sources.folder.source:FolderSource",
        "twinlog.pipelines.sources.postgres.source:PostgresSource",
        "twinlog.pipelines.sources.binlog.source:MariaDbSource",
        "twinlog.pipelines.sources.binlog.source:MySqlSource",
        "twinlog.pipelines.sources.syslog:SyslogSource",
    ),
    "sink": (
        "twinlog.pipelines.sinks.file_stream.sink:FileStreamSink",
        "twinlog.pipelines.sinks.jdbc.sink:JdbcSink",
        "twinlog.pipelines.sinks.elasticsearch.sink:ElasticsearchSink",
        "twinlog.pipelines.sinks.http.sink:HttpSink",
        "twinlog.pipelines.sinks.object_store.sink:ObjectStoreSink",
        "twinlog.pipelines.sinks.lake.iceberg:IcebergSink",
        "twinlog.pipelines.sinks.lake.delta:DeltaSink",
    ),
    "converter": (
        "twinlog.pipelines.converters.json_documents:JsonConverter",
        "twinlog.pipelines.converters.avro:AvroConverter",
        "twinlog.pipelines.converters.json_schema:JsonSchemaConverter",
        "twinlog.pipelines.converters.protobuf:ProtobufConverter",
        "twinlog.pipelines.converters.delimited:CsvConverter",
        "twinlog.pipelines.converters.delimited:XmlConverter",
        "twinlog.pipelines.converters.auto:AutoConverter",
        *(
            f"twinlog.pipelines.converters.primitives:{kind}Converter"
            for kind in ("String", "ByteArray", "Boolean", "Short", "Integer", "Long", "Float", "Double")
        ),
    ),
    "transformation": (
        *(
            f"twinlog.pipelines.transforms.{module}:{name}{side}"
            for module, name in (
                ("cast", "Cast"),
                ("extract_field", "ExtractField"),
                ("extract_field", "HoistField"),
                ("flatten", "Flatten"),
                ("headers", "HeaderFrom"),
                ("insert_field", "InsertField"),
                ("mask_field", "MaskField"),
                ("replace_field", "ReplaceField"),
                ("set_schema_metadata", "SetSchemaMetadata"),
                ("timestamp_converter", "TimestampConverter"),
            )
            for side in ("Key", "Value")
        ),
        "twinlog.pipelines.transforms.extract_field:ValueToKey",
        "twinlog.pipelines.transforms.headers:DropHeaders",
        "twinlog.pipelines.transforms.headers:InsertHeader",
        "twinlog.pipelines.transforms.routers:Filter",
        "twinlog.pipelines.transforms.routers:RegexRouter",
        "twinlog.pipelines.transforms.routers:TimestampRouter",
        "twinlog.pipelines.transforms.sql_step:Sql",
        "twinlog.pipelines.transforms.unwrap:ExtractNewRecordState",
    ),
    "predicate": (
        "twinlog.pipelines.transforms.predicates:HasHeaderKey",
        "twinlog.pipelines.transforms.predicates:RecordIsTombstone",
        "twinlog.pipelines.transforms.predicates:TopicNameMatches",
    ),
}


@dataclass(frozen=True)
class Plugin:
    """One plugin and the names under which configurations know it."""

    kind: Kind
    target: type
    names: tuple[str, ...]
    version: str
    package: str

    @property
    def name(self) -> str:
        return self.names[0]

    def is_called(self, name: str) -> bool:
        """Whether a configuration means it; `Connector` at the end may be left out, as in Connect."""
        return bool({name, name.removesuffix("Connector"), f"{name}Connector"} & set(self.names))


@lru_cache
def _loaded() -> tuple[tuple[Plugin, ...], tuple[Finding, ...]]:
    plugins: list[Plugin] = []
    findings: list[Finding] = []
    for kind, places in _OWN.items():
        for place in places:
            module, _, name = place.partition(":")
            target = getattr(importlib.import_module(module), name)
            plugins.append(Plugin(kind, target, (*target.also, target.__name__), _version("twinlog"), "twinlog"))
    for group, kind in _GROUPS.items():
        for entry in entry_points(group=group):
            package = entry.dist.name if entry.dist else "?"
            try:
                target = entry.load()
            except Exception as error:  # noqa: BLE001  a plugin is foreign code: whatever it raises is its problem
                findings.append(Finding(entry.name, f"plugin of {package} cannot be loaded: {error!r}", "warning"))
                continue
            names = (entry.name, *getattr(target, "also", ()))
            plugins.append(Plugin(kind, target, names, _version(package), package))
    return tuple(plugins), tuple(findings)


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def all_plugins() -> tuple[Plugin, ...]:
    return _loaded()[0]


def broken_plugins() -> tuple[Finding, ...]:
    return _loaded()[1]


def find(name: str, *kinds: Kind) -> Plugin:
    """The plugin of that name; `Connector` at the end may be left out, as in Connect. Raises SettingsRefused."""
    for plugin in all_plugins():
        if plugin.kind in kinds and plugin.is_called(name):
            return plugin
    raise SettingsRefused([Finding(None, f"{name}: no such {' or '.join(kinds)}; {_hint(name, kinds)}")])


def _hint(name: str, kinds: tuple[Kind, ...]) -> str:
    """A class whose name is near, with or without its package."""
    spelled = {
        spelling: plugin.name
        for plugin in all_plugins()
        if plugin.kind in kinds
        for full in plugin.names
        for short in [full.rpartition(".")[2]]
        for spelling in (full, short, short.removesuffix("Connector"))
    }
    near = difflib.get_close_matches(name, spelled, 1, 0.8)
    return f"did you mean {spelled[near[0]]}?" if near else "`twinlog pipeline plugins` lists what there is"


def connector(name: str, config: Mapping[str, str]) -> Source | Sink:
    """A connector made of its configuration. Raises SettingsRefused."""
    plugin = find(name, "source", "sink")
    target: Any = plugin.target
    return cast("Source | Sink", target(read_settings(target.settings, config)))


def converter(name: str, config: Mapping[str, str]) -> Converter:
    target: Any = find(name, "converter").target
    return cast("Converter", target(config))


def transform(name: str, config: Mapping[str, str]) -> Transform:
    target: Any = find(name, "transformation").target
    return cast("Transform", target(config))


def predicate(name: str, config: Mapping[str, str]) -> Predicate:
    target: Any = find(name, "predicate").target
    return cast("Predicate", target(config))
