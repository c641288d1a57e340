"""Names of types: which type a name means at a place of a file.

A name with a dot in front is complete. Another one is looked for in the innermost message first, then outwards, then in
the package and the packages around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from twinlog.registry.schemas.protobuf.model import Enum, Extend, Field, Message, ProtoFile
from twinlog.registry.schemas.protobuf.well_known import well_known_files

Declared = TypeVar("Declared")


@dataclass(frozen=True)
class Known:
    """A type, the package of its file, and whether the file is the schema itself."""

    element: Message | Enum
    package: str
    local: bool

    def map_type(self) -> str | None:
        """`map<key, value>` if this is the message that a compiler makes for a map."""
        if not isinstance(self.element, Message) or not is_map_entry(self.element):
            return None
        types = {field.name: field.type for field in self.element.fields}
        return f"map<{types['key']}, {types['value']}>" if {"key", "value"} <= types.keys() else None


@dataclass(frozen=True)
class Scope:
    """A place: the package and the messages around it."""

    package: str
    messages: tuple[str, ...] = ()

    def inside(self, name: str) -> "Scope":
        return Scope(self.package, (*self.messages, name))


class Names:
    """All types and extension fields that a schema can name."""

    def __init__(self, file: ProtoFile, dependencies: Mapping[str, ProtoFile]) -> None:
        types, extensions = _well_known(frozenset(dependencies.keys() & well_known_files().keys()))
        self.types = dict(types)
        self.extensions = dict(extensions)
        for dependency in dependencies.values():
            _collect(dependency, self.types, self.extensions, local=False)
        _collect(file, self.types, self.extensions, local=True)

    def full_name(self, name: str, scope: Scope) -> str | None:
        """The complete name of a type, without a dot in front."""
        return _resolve(self.types, name, scope)

    def find(self, name: str, scope: Scope) -> Known | None:
        full = self.full_name(name, scope)
        return None if full is None else self.types[full]

    def full_extension(self, name: str, scope: Scope) -> str | None:
        """The complete name of an extension field."""
        return _resolve(self.extensions, name, scope)


def _collect(file: ProtoFile, known: dict[str, Known], extensions: dict[str, Field], *, local: bool) -> None:
    package = file.package or ""
    waiting: list[tuple[str, list[Message | Enum], list[Extend]]] = [(package, file.types, file.extends)]
    while waiting:
        prefix, types, extends = waiting.pop()
        start = f"{prefix}." if prefix else ""
        for extend in extends:
            extensions.update({start + field.name: field for field in extend.fields})
        for element in types:
            known[start + element.name] = Known(element, package, local)
            if isinstance(element, Message):
                waiting.append((start + element.name, element.types, element.extends))


@lru_cache(maxsize=8)
def _well_known(without: frozenset[str]) -> tuple[dict[str, Known], dict[str, Field]]:
    """Names of the files that every schema may use, but for those that are references."""
    types: dict[str, Known] = {}
    extensions: dict[str, Field] = {}
    for path, file in well_known_files().items():
        if path not in without:
            _collect(file, types, extensions, local=False)
    return types, extensions


def is_map_entry(message: Message) -> bool:
    """Whether a compiler made the message for a map."""
    values = [option.value for option in message.options if option.name.removeprefix(".") == "map_entry"]
    return bool(values) and str(values[-1]).lower() == "true"


def _resolve(known: Mapping[str, Declared], name: str, scope: Scope) -> str | None:
    if name.startswith("."):
        return name[1:] if name[1:] in known else None
    around = [*(scope.package.split(".") if scope.package else []), *scope.messages]
    while around:
        full = f"{'.'.join(around)}.{name}"
        if full in known:
            return full
        around.pop()
    return name if name in known else None
