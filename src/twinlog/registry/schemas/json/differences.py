"""The names of differences that break compatibility, and Confluent's sentences for them.

A difference that is always compatible has no name here: it is not noted at all.
"""

from dataclasses import dataclass

LENIENT = frozenset(
    {
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    }
)
"""Differences that the policy LENIENT allows."""

_ABSENT = "The keyword at path '{path}' in the %s schema is not present in the %s schema"
_MORE = "The value at path '{path}' in the %s schema is more than its value in the %s schema"
_LESS = "The value at path '{path}' in the %s schema is less than its value in the %s schema"
_OTHER_VALUE = "The value at path '{path}' is different between the %s and %s schema"
_FEWER = "An array or combined type at path '{path}' has fewer elements in the %s schema than the %s schema"
_LONGER = "An array or combined type at path '{path}' has more elements in the %s schema than the %s schema"
_OTHER_TYPE = "A type at path '{path}' is different between the %s schema and the %s schema"
_ADDED_TO_OPEN = (
    "The %s schema has an open content model and has a property or item at path '{path}' "
    "which is missing in the %s schema"
)
_REQUIRED_ADDED = (
    "The %s schema has an unopen content model and has a required property at path '{path}' "
    "which is missing in the %s schema"
)
_REMOVED_FROM_CLOSED = (
    "The %s has a closed content model and is missing a property or item present at path '{path}' in the %s schema"
)
_REMOVED_NOT_COVERED = (
    "A property or item is missing in the %s schema but present at path '{path}' in the %s schema "
    "and is not covered by its partially open content model"
)
_ADDED_NOT_COVERED = (
    "The %s schema has a property or item at path '{path}' which is missing in the %s schema "
    "and is not covered by its partially open content model"
)

_SENTENCES = {
    **dict.fromkeys(
        (
            *("MAXIMUM_ADDED", "MINIMUM_ADDED", "EXCLUSIVE_MAXIMUM_ADDED", "EXCLUSIVE_MINIMUM_ADDED"),
            *("MULTIPLE_OF_ADDED", "MAX_LENGTH_ADDED", "MIN_LENGTH_ADDED", "PATTERN_ADDED"),
            *("REQUIRED_ATTRIBUTE_ADDED", "MAX_PROPERTIES_ADDED", "MIN_PROPERTIES_ADDED"),
            *("DEPENDENCY_ARRAY_ADDED", "DEPENDENCY_SCHEMA_ADDED", "MAX_ITEMS_ADDED", "MIN_ITEMS_ADDED"),
            *("UNIQUE_ITEMS_ADDED", "ADDITIONAL_ITEMS_REMOVED", "ADDITIONAL_PROPERTIES_REMOVED"),
        ),
        _ABSENT,
    ),
    **dict.fromkeys(
        (
            *("MIN_LENGTH_INCREASED", "MINIMUM_INCREASED", "EXCLUSIVE_MINIMUM_INCREASED"),
            *("MIN_PROPERTIES_INCREASED", "MULTIPLE_OF_EXPANDED", "MIN_ITEMS_INCREASED"),
        ),
        _MORE,
    ),
    **dict.fromkeys(
        (
            *("MAX_LENGTH_DECREASED", "MAXIMUM_DECREASED", "MAX_ITEMS_DECREASED"),
            *("EXCLUSIVE_MAXIMUM_DECREASED", "MAX_PROPERTIES_DECREASED"),
        ),
        _LESS,
    ),
    **dict.fromkeys(("PATTERN_CHANGED", "MULTIPLE_OF_CHANGED", "DEPENDENCY_ARRAY_CHANGED"), _OTHER_VALUE),
    **dict.fromkeys(
        (
            *("ADDITIONAL_ITEMS_NARROWED", "ENUM_ARRAY_NARROWED", "SUM_TYPE_NARROWED"),
            "ADDITIONAL_PROPERTIES_NARROWED",
        ),
        _FEWER,
    ),
    **dict.fromkeys(("DEPENDENCY_ARRAY_EXTENDED", "PRODUCT_TYPE_EXTENDED", "NOT_TYPE_EXTENDED"), _LONGER),
    **dict.fromkeys(
        (
            *("TYPE_CHANGED", "TYPE_NARROWED", "COMBINED_TYPE_CHANGED"),
            *("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "ENUM_ARRAY_CHANGED"),
        ),
        _OTHER_TYPE,
    ),
    **dict.fromkeys(("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "ITEM_ADDED_TO_OPEN_CONTENT_MODEL"), _ADDED_TO_OPEN),
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": _REQUIRED_ADDED,
    **dict.fromkeys(
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL"), _REMOVED_FROM_CLOSED
    ),
    **dict.fromkeys(
        (
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        _REMOVED_NOT_COVERED,
    ),
    **dict.fromkeys(
        (
            "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        _ADDED_NOT_COVERED,
    ),
    "SCHEMA_ADDED": "",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why the new schema refuses what the old one allows."""

    kind: str
    path: tuple[str, ...] = ()

    def below(self, *steps: str) -> "Difference":
        return Difference(self.kind, (*steps, *self.path))

    def __str__(self) -> str:
        """Confluent's text, with two gaps for the words new and old. Its quotes do not match."""
        description = _SENTENCES[self.kind].replace("{path}", "#/" + "/".join(self.path))
        return f'{{errorType:"{self.kind}", description:"{description}\'}}'
