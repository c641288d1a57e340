"""Keys of a link that concern single records on their way: Connect's transforms, predicates and converters.

One table, no logic.
"""

from __future__ import annotations

from typing import Any

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.values import OneOf, Regexes, Text, Words

_LINK = (Scope.LINK,)
TRANSFORMS = Key(
    "transforms", _LINK, Words(), "",
    "Names of Connect's transforms of single records, in order (docs/transforms.md). Absent: batches pass unopened.",
)  # fmt: skip
TRANSFORM_KEYS = Key(
    "transforms.*", _LINK, Text(), None,
    "Of each transform: transforms.NAME.type (a class of Kafka), .predicate, .negate, and the keys of the class.",
)  # fmt: skip
PREDICATES = Key("predicates", _LINK, Words(), "", "Names of Connect's predicates, which choose records.")
PREDICATE_KEYS = Key("predicates.*", _LINK, Text(), None, "Of each predicate: predicates.NAME.type and its keys.")
KEY_CONVERTER = Key(
    "key.converter.*", _LINK, Text(), None, "How transforms read keys, as value.converter. Absent: as bytes."
)
VALUE_CONVERTER = Key(
    "value.converter.*", _LINK, Text(), None,
    "How transforms read values: value.converter = org.apache.kafka.connect.json.JsonConverter with "
    "value.converter.schemas.enable = false. Absent: as bytes.",
)  # fmt: skip
TRANSFORMED_TOPICS = Key(
    "transformed.topics", _LINK, Regexes(), ".*",
    "Topics of the source whose records go through the transforms; all others pass unopened.", own=True,
)  # fmt: skip

ERRORS_TOLERANCE = Key(
    "errors.tolerance", _LINK, OneOf(("none", "all")), "none",
    "Records that a transform cannot handle: none faults their partition, all leaves them out and counts them.",
)  # fmt: skip

TRANSFORM_FAMILIES = ("transforms", "predicates", "key.converter", "value.converter")
TRANSFORM_ALL: tuple[Key[Any], ...] = (
    TRANSFORMS, TRANSFORM_KEYS, PREDICATES, PREDICATE_KEYS, KEY_CONVERTER, VALUE_CONVERTER, TRANSFORMED_TOPICS,
    ERRORS_TOLERANCE,
)  # fmt: skip
