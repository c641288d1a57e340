"""The transforms of a link, in Connect's keys. Runs while a file is resolved.

    A->B.transforms = mask
    A->B.transforms.mask.type = org.apache.kafka.connect.transforms.MaskField$Value
    A->B.transforms.mask.fields = email
    A->B.value.converter = org.apache.kafka.connect.json.JsonConverter
    A->B.value.converter.schemas.enable = false

Keys at the top of the file hold for all links; a link's own key wins. Classes and their keys are checked by the room
that has them (`pipelines/link_rules.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from twinlog.config.text import transform_keys
from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import LinkLookup
from twinlog.config.text.properties import Entry
from twinlog.config.text.values import Text
from twinlog.model.selection import Patterns
from twinlog.model.transforms import FieldMask, Transforms


def resolve_transforms(at: LinkLookup, masks: Sequence[FieldMask], exempt: Sequence[str]) -> Transforms:
    """Read them all; a key that no listed name takes is noted."""
    steps, predicates = at.value(transform_keys.TRANSFORMS), at.value(transform_keys.PREDICATES)
    topics = at.value(transform_keys.TRANSFORMED_TOPICS)
    tolerant = at.value(transform_keys.ERRORS_TOLERANCE) == "all"
    entries = _entries(at)
    if not steps and not masks:
        _note_idle(at, entries, tolerant=tolerant)
        return Transforms()
    config: dict[str, str] = {}
    for name, entry in entries.items():
        family, _, rest = name.partition(".")
        known = {"transforms": steps, "predicates": predicates}.get(family)
        if known is not None and rest and rest.partition(".")[0] not in known:
            at.lookup.note("warning", entry, f"ignored: `{family}` does not list {rest.partition('.')[0]}")
        else:
            config[name] = entry.value.strip()
            at.optional(Key(name, (Scope.LINK,), Text(), None, ""))  # shown by `validate` with its line
    return Transforms(
        tuple(sorted(config.items())), Patterns(topics), tolerant=tolerant, masks=tuple(masks), exempt=tuple(exempt)
    )


def _entries(at: LinkLookup) -> dict[str, Entry]:
    """Every key of the families by its name behind the link's; the link's own wins."""
    by_name: dict[str, Entry] = {}
    own = f"{at.link}."
    for key, entry in at.lookup.entries.items():
        name = key.removeprefix(own)
        if not any(name == family or name.startswith(f"{family}.") for family in transform_keys.TRANSFORM_FAMILIES):
            continue
        at.lookup.asked.add(key)
        if name not in by_name or key.startswith(own):
            by_name[name] = entry
    return by_name


def _note_idle(at: LinkLookup, entries: dict[str, Entry], *, tolerant: bool) -> None:
    for name, entry in entries.items():
        if name not in {"transforms", "predicates"}:
            at.lookup.note("info", entry, f"no effect: {at.link} has no transforms, records are copied as bytes")
    if tolerant:
        sentence = (
            "no effect: the link has no transforms. A partition that cannot be copied is faulted, the others continue. "
            "For records that the source deleted too early see on.gap"
        )
        at.lookup.note("warning", at.entry(transform_keys.ERRORS_TOLERANCE), sentence)
