"""An Avro schema as Java's `Schema.toString` prints it. This text is stored and hashed, so each byte counts."""

from collections.abc import Callable, Iterable

from twinlog.registry.schemas.avro.model import (
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Named,
    Primitive,
    Props,
    Record,
    Union,
    Unresolved,
)
from twinlog.registry.schemas.json_text import quoted, write_json


def print_type(schema: AvroType, known: Iterable[str] = ()) -> str:
    """The text. A named type is written out once; `known` full names are never written out."""
    parts: list[str] = []
    _Printer(parts.append, set(known)).type(schema, None)
    return "".join(parts)


class _Printer:
    """Writes pieces of text and remembers which names it wrote out."""

    def __init__(self, write: Callable[[str], object], known: set[str]) -> None:
        self._write = write
        self._known = known

    def type(self, schema: AvroType, space: str | None) -> None:
        write = self._write
        if isinstance(schema, Primitive):
            if not schema.props:
                write(f'"{schema.kind}"')
                return
            write(f'{{"type":"{schema.kind}"')
            self._props(schema.props)
            write("}")
        elif isinstance(schema, Union):
            separator = "["
            for branch in schema.branches:
                write(separator)
                self.type(branch, space)
                separator = ","
            write("]" if schema.branches else "[]")
        elif isinstance(schema, Array):
            write('{"type":"array","items":')
            self.type(schema.items, space)
            self._props(schema.props)
            write("}")
        elif isinstance(schema, Map):
            write('{"type":"map","values":')
            self.type(schema.values, space)
            self._props(schema.props)
            write("}")
        elif isinstance(schema, Unresolved):
            write(quoted(schema.full))
        elif schema.name.full in self._known:
            write(quoted(schema.name.seen_from(space)))
        else:
            self._named(schema, space)

    def _named(self, schema: Named, space: str | None) -> None:
        name = schema.name
        self._known.add(name.full)
        word = "error" if isinstance(schema, Record) and schema.error else schema.kind
        self._write(f'{{"type":"{word}","name":{quoted(name.short)}')
        if name.space != space:
            self._write(f',"namespace":{quoted(name.space or "")}')
        if schema.doc is not None:
            self._write(f',"doc":{quoted(schema.doc)}')
        if isinstance(schema, Record):
            separator = ',"fields":['
            for field in schema.fields:
                self._write(separator)
                self._field(field, name.space)
                separator = ","
            self._write("]" if schema.fields else ',"fields":[]')
        elif isinstance(schema, Enum):
            self._write(f',"symbols":[{",".join(map(quoted, schema.symbols))}]')
            if schema.default is not None:
                self._write(f',"default":{quoted(schema.default)}')
        elif isinstance(schema, Fixed):
            self._write(f',"size":{schema.size}')
        self._props(schema.props)
        self._aliases(schema.aliases, name)
        self._write("}")

    def _field(self, field: Field, space: str | None) -> None:
        write = self._write
        write(f'{{"name":{quoted(field.name)},"type":')
        self.type(field.type, space)
        if field.doc is not None:
            write(f',"doc":{quoted(field.doc)}')
        if field.has_default:
            write(',"default":')
            write_json(field.default, write)
        if field.order != "ascending":
            write(f',"order":"{field.order}"')
        if field.aliases:
            write(f',"aliases":[{",".join(map(quoted, field.aliases))}]')
        self._props(field.props)
        write("}")

    def _props(self, props: Props) -> None:
        for key, value in props.items():
            self._write(f",{quoted(key)}:")
            write_json(value, self._write)

    def _aliases(self, aliases: list[Name], name: Name) -> None:
        if aliases:
            self._write(f',"aliases":[{",".join(quoted(alias.seen_from(name.space)) for alias in aliases)}]')
