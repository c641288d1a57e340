"""Whether data of a writer's schema can be read with a reader's schema: Avro's rules and Confluent's messages."""

from dataclasses import dataclass

from twinlog.registry.schemas.avro.model import Array, AvroType, Enum, Field, Fixed, Map, Primitive, Record, Union
from twinlog.registry.schemas.avro.read import describe
from twinlog.registry.schemas.avro.write import print_type
from twinlog.registry.schemas.budget import Budget

_PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}

_DESCRIPTIONS = {
    "FIXED_SIZE_MISMATCH": (
        "The size of FIXED type field at path '{path}' in the %s schema does not match with the %s schema"
    ),
    "TYPE_MISMATCH": "The type (path '{path}') of a field in the %s schema does not match with the %s schema",
    "NAME_MISMATCH": "The name of the schema has changed (path '{path}')",
    "MISSING_ENUM_SYMBOLS": "The %s schema is missing enum symbols '{info}' at path '{path}' in the %s schema",
    "MISSING_UNION_BRANCH": "The %s schema is missing a type inside a union field at path '{path}' in the %s schema",
    "READER_FIELD_MISSING_DEFAULT_VALUE": (
        "The field '{info}' at path '{path}' in the %s schema has no default value and is missing in the %s schema"
    ),
}

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why the reader cannot read. It prints with two gaps `%s` for the words new and old."""

    kind: str
    path: Path
    info: str

    def __str__(self) -> str:
        path = "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in self.path)
        description = _DESCRIPTIONS[self.kind].replace("{path}", path).replace("{info}", self.info)
        return f"{{errorType:'{self.kind}', description:'{description}', additionalInfo:'{self.info}'}}"


class AmbiguousField(Exception):
    """A reader's field and its aliases match several fields of the writer."""


def differences(reader: AvroType, writer: AvroType, budget: Budget) -> list[Difference]:
    """Why `reader` cannot read data of `writer`; empty if it can. Raises AmbiguousField."""
    return _Check(budget).pair(reader, writer, ())


class _Check:
    """Remembers pairs of types: one that is still being compared counts as compatible, as in Java."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._seen: dict[tuple[int, int], list[Difference]] = {}
        self._fields: dict[int, dict[str, Field]] = {}

    def pair(self, reader: AvroType, writer: AvroType, path: Path) -> list[Difference]:
        self._budget.step()
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            if reader.kind == writer.kind or writer.kind in _PROMOTIONS.get(reader.kind, ()):
                return []
            return [_mismatch(reader, writer, path)]
        key = (id(reader), id(writer))
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = []
            known = self._seen[key] = self._compare(reader, writer, path)
        return known

    def _compare(self, reader: AvroType, writer: AvroType, path: Path) -> list[Difference]:
        if isinstance(writer, Union):
            if not isinstance(reader, Union):
                return [
                    difference
                    for place, branch in enumerate(writer.branches)
                    for difference in self.pair(reader, branch, (*path, str(place)))
                ]
            return [
                _lacking(branch, (*path, str(place)))
                for place, branch in enumerate(writer.branches)
                if self.pair(reader, branch, ())
            ]
        if isinstance(reader, Union):
            if any(not self.pair(branch, writer, ()) for branch in reader.branches):
                return []
            return [_lacking(writer, path)]
        if isinstance(reader, Array) and isinstance(writer, Array):
            return self.pair(reader.items, writer.items, (*path, "items"))
        if isinstance(reader, Map) and isinstance(writer, Map):
            return self.pair(reader.values, writer.values, (*path, "values"))
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return _names(reader, writer, path) + _sizes(reader, writer, path)
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return _names(reader, writer, path) + _symbols(reader, writer, path)
        if isinstance(reader, Record) and isinstance(writer, Record):
            return _names(reader, writer, path) + self._record_fields(reader, writer, path)
        return [_mismatch(reader, writer, path)]

    def _record_fields(self, reader: Record, writer: Record, path: Path) -> list[Difference]:
        changes: list[Difference] = []
        written = self._fields.setdefault(id(writer), {field.name: field for field in writer.fields})
        for place, field in enumerate(reader.fields):
            here = (*path, "fields", str(place))
            hits = [written[name] for name in (field.name, *field.aliases) if name in written]
            if len(hits) > 1:
                raise AmbiguousField(
                    f"Reader record field {describe(field, place)} matches multiple fields in writer record schema "
                    f"{print_type(writer)}"
                )
            if hits:
                changes += self.pair(field.type, hits[0].type, (*here, "type"))
            elif not field.has_default:
                if isinstance(field.type, Enum) and field.type.default is not None:
                    changes += self.pair(field.type, writer, (*here, "type"))
                else:
                    changes.append(Difference("READER_FIELD_MISSING_DEFAULT_VALUE", here, field.name))
        return changes


def _mismatch(reader: AvroType, writer: AvroType, path: Path) -> Difference:
    info = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
    return Difference("TYPE_MISMATCH", path, info)


def _lacking(writer: AvroType, path: Path) -> Difference:
    return Difference("MISSING_UNION_BRANCH", path, f"reader union lacking writer type: {writer.kind.upper()}")


def _names(reader: Record | Enum | Fixed, writer: Record | Enum | Fixed, path: Path) -> list[Difference]:
    """Short names are compared: a moved namespace is compatible. An alias is compared as a full name."""
    if reader.name.short == writer.name.short:
        return []
    space = reader.name.space
    aliases = {
        f".{alias.short}" if alias.space is None and space is not None else alias.full for alias in reader.aliases
    }
    if writer.name.full in aliases:
        return []
    return [Difference("NAME_MISMATCH", (*path, "name"), f"expected: {writer.name.full}")]


def _sizes(reader: Fixed, writer: Fixed, path: Path) -> list[Difference]:
    if reader.size == writer.size:
        return []
    return [Difference("FIXED_SIZE_MISMATCH", (*path, "size"), f"expected: {writer.size}, found: {reader.size}")]


def _symbols(reader: Enum, writer: Enum, path: Path) -> list[Difference]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or (reader.default is not None and reader.default in reader.symbols):
        return []
    return [Difference("MISSING_ENUM_SYMBOLS", (*path, "symbols"), f"[{', '.join(missing)}]")]
