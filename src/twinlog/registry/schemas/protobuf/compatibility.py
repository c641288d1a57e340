"""Whether records of an old Protobuf schema can be read with a new one, by Confluent's rules.

Messages are compared by name, fields by number. Options, services, extensions, reserved numbers, enums and the syntax
are not compared.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from twinlog.registry.schemas.budget import Budget
from twinlog.registry.schemas.java_order import hash_order
from twinlog.registry.schemas.pairs import Pairs
from twinlog.registry.schemas.protobuf.differences import Difference
from twinlog.registry.schemas.protobuf.model import SCALARS, Enum, Field, Message, OneOf, ProtoFile, map_types
from twinlog.registry.schemas.protobuf.names import Known, Names, Scope

_GROUPS = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), "number"),
    **dict.fromkeys(("sint32", "sint64"), "signed"),
    **dict.fromkeys(("string", "bytes"), "text"),
    **dict.fromkeys(("fixed32", "sfixed32"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64"), "fixed64"),
    "float": "float",
    "double": "double",
}
"""Scalars of one group have the same bytes."""

_AGAIN = "THE SAME AGAIN"
Types = list[Message | Enum]
Differences = list[Difference]


@dataclass(frozen=True)
class Side:
    """One of the two schemas, at a place."""

    names: Names
    scope: Scope

    def inside(self, name: str) -> "Side":
        return Side(self.names, self.scope.inside(name))

    def find(self, name: str) -> Known | None:
        return self.names.find(name, self.scope)


@dataclass(frozen=True)
class Pair:
    """Two messages that are used where one was used before."""

    old: Message
    new: Message
    old_side: Side
    new_side: Side


Comparison = Generator[Pair, Differences, Differences]


def differences(old: ProtoFile, new: ProtoFile, old_names: Names, new_names: Names, budget: Budget) -> Differences:
    """Why records of `old` cannot be read with `new`; empty if they can."""
    whole = Pair(
        Message("", types=old.types),
        Message("", types=new.types),
        Side(old_names, Scope(old.package or "")),
        Side(new_names, Scope(new.package or "")),
    )
    all_differences = [] if old.package == new.package else [Difference("PACKAGE_CHANGED", ())]
    all_differences += Pairs(_compare_messages, _key, Difference(_AGAIN, ())).differences(whole, budget)
    return [difference for difference in all_differences if difference.kind != _AGAIN]


def _key(pair: Pair) -> tuple[int, int]:
    return id(pair.old), id(pair.new)


def _compare_messages(pair: Pair) -> Comparison:
    """Oneofs, then fields, then the messages inside."""
    old, new, path = pair.old, pair.new, pair.old_side.scope.messages
    old_fields = {field.tag: field for field in old.fields}
    new_fields = {field.tag: field for field in new.fields}
    in_old_one_ofs = {field.tag for one_of in old.one_ofs for field in one_of.fields}
    changes: Differences = []
    for one_of in new.one_ofs:
        tags = [field.tag for field in one_of.fields]
        moved = [tag for tag in tags if old_fields.pop(tag, None) is not None]
        existing = in_old_one_ofs.intersection(tags).difference(moved)
        if len(moved) > 1:
            changes.append(Difference("MULTIPLE_FIELDS_MOVED_TO_ONEOF", (*path, one_of.name)))
        elif moved and existing:
            changes.append(Difference("FIELD_MOVED_TO_EXISTING_ONEOF", (*path, one_of.name)))
    changes += yield from _compare_one_ofs(pair)
    for tag in hash_order([*old_fields, *new_fields]):
        before, after = old_fields.get(tag), new_fields.get(tag)
        here = (*path, str(tag))
        if before is not None and after is not None:
            changes += yield from _compare_fields(before, after, pair, here)
        elif before is not None and before.label == "required":
            changes.append(Difference("REQUIRED_FIELD_REMOVED", here))
        elif after is not None and after.label == "required":
            changes.append(Difference("REQUIRED_FIELD_ADDED", here))
    changes += yield from _compare_types(pair)
    return changes


def _compare_one_ofs(pair: Pair) -> Comparison:
    """A oneof may come and go; a member of one that stays may come only."""
    path = pair.old_side.scope.messages
    old = {one_of.name: one_of for one_of in pair.old.one_ofs}
    new = {one_of.name: one_of for one_of in pair.new.one_ofs}
    changes: Differences = []
    for name in hash_order([*old, *new]):
        if name not in old or name not in new:
            continue
        before, after = _by_tag(old[name]), _by_tag(new[name])
        for tag in hash_order([*before, *after]):
            here = (*path, name, str(tag))
            if tag not in after:
                changes.append(Difference("ONEOF_FIELD_REMOVED", here))
            elif tag in before:
                changes += yield from _compare_fields(before[tag], after[tag], pair, here)
    return changes


def _by_tag(one_of: OneOf) -> dict[int, Field]:
    return {field.tag: field for field in one_of.fields}


def _compare_types(pair: Pair) -> Comparison:
    """Messages inside of a message or a file. One that a compiler made for a map may go."""
    old, new = dict(_messages(pair.old.types)), dict(_messages(pair.new.types))
    path = pair.old_side.scope.messages
    changes: Differences = []
    for name in hash_order([*old, *new]):
        if name not in old:
            continue
        if name in new:
            changes += yield Pair(old[name], new[name], pair.old_side.inside(name), pair.new_side.inside(name))
        else:
            known = pair.old_side.inside(name).find(name)
            if known is not None and known.map_type() is None:
                changes.append(Difference("MESSAGE_REMOVED", (*path, name)))
    return changes


def _messages(types: Types) -> Iterator[tuple[str, Message]]:
    return ((element.name, element) for element in types if isinstance(element, Message))


def _compare_fields(old: Field, new: Field, pair: Pair, path: tuple[str, ...]) -> Comparison:
    labels_differ = old.label is not None and new.label is not None and old.label != new.label
    return (yield from _compare_kinds(old.type, new.type, pair, path, labels_differ=labels_differ))


def _compare_kinds(old: str, new: str, pair: Pair, path: tuple[str, ...], *, labels_differ: bool = False) -> Comparison:
    old, new = _as_map(old, pair.old_side), _as_map(new, pair.new_side)
    kind = _kind(old, pair.old_side)
    if kind != _kind(new, pair.new_side):
        return [Difference("FIELD_KIND_CHANGED", path)]
    if kind == "scalar":
        group = _group(old, pair.old_side)
        if group != _group(new, pair.new_side):
            return [Difference("FIELD_SCALAR_KIND_CHANGED", path)]
        return [Difference("FIELD_NUMERIC_LABEL_CHANGED", path)] if labels_differ and group != "text" else []
    old_types, new_types = map_types(old), map_types(new)
    if old_types is not None and new_types is not None:
        changes: Differences = []
        for before, after in zip(old_types, new_types, strict=True):
            changes += yield from _compare_kinds(before, after, pair, path)
        return changes
    return (yield from _compare_named(old, new, pair, path))


def _compare_named(old: str, new: str, pair: Pair, path: tuple[str, ...]) -> Comparison:
    """Messages of the schema itself are compared by their own name; others are compared here."""
    changed = Difference("FIELD_NAMED_TYPE_CHANGED", path)
    old_full = pair.old_side.names.full_name(old, pair.old_side.scope)
    new_full = pair.new_side.names.full_name(new, pair.new_side.scope)
    if old_full is None or new_full is None:
        return [] if old == new else [changed]
    old_known, new_known = pair.old_side.names.types[old_full], pair.new_side.names.types[new_full]
    old_local = old_full.removeprefix(f"{old_known.package}.")
    if old_local != new_full.removeprefix(f"{new_known.package}."):
        return [changed]
    if old_known.local and new_known.local:
        return []
    if not isinstance(old_known.element, Message) or not isinstance(new_known.element, Message):
        return []
    around = tuple(old_local.split("."))
    changes = yield Pair(
        old_known.element,
        new_known.element,
        Side(pair.old_side.names, Scope(old_known.package, around)),
        Side(pair.new_side.names, Scope(new_known.package, around)),
    )
    return [*changes, changed] if changes else []


def _as_map(name: str, side: Side) -> str:
    known = None if name in SCALARS else side.find(name)
    return (known.map_type() if known is not None else None) or name


def _kind(name: str, side: Side) -> str:
    if map_types(name) is not None:
        return "map"
    if name in SCALARS:
        return "scalar"
    known = side.find(name)
    return "scalar" if known is not None and isinstance(known.element, Enum) else "message"


def _group(name: str, side: Side) -> str:
    """An enum is a number. A message of the schema may have the name of a scalar, and is none."""
    known = side.find(name)
    return "number" if known is not None and isinstance(known.element, Enum) else _GROUPS[name]
