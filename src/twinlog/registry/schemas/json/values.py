"""Comparison of schemas for single values: texts, numbers, choices and constants."""

from decimal import Decimal
from fractions import Fraction

from twinlog.registry.schemas.json.differences import Difference
from twinlog.registry.schemas.json.model import Choice, Constant, Number, Text

_MOST_DIGITS = 400
Limit = int | Decimal | None


def compare_texts(old: Text, new: Text) -> list[Difference]:
    """Lengths and the pattern."""
    differences = [
        *upper_limit("maxLength", "MAX_LENGTH", old.max_length, new.max_length),
        *lower_limit("minLength", "MIN_LENGTH", old.min_length, new.min_length),
    ]
    if new.pattern is not None and old.pattern != new.pattern:
        differences.append(Difference("PATTERN_ADDED" if old.pattern is None else "PATTERN_CHANGED", ("pattern",)))
    return differences


def compare_numbers(old: Number, new: Number) -> list[Difference]:
    """Limits, the divisor and whether it is an integer."""
    differences = [
        *upper_limit("maximum", "MAXIMUM", old.maximum, new.maximum),
        *lower_limit("minimum", "MINIMUM", old.minimum, new.minimum),
        *upper_limit("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", old.exclusive_maximum, new.exclusive_maximum),
        *lower_limit("exclusiveMinimum", "EXCLUSIVE_MINIMUM", old.exclusive_minimum, new.exclusive_minimum),
        *_compare_divisors(old.multiple_of, new.multiple_of),
    ]
    if new.integer and not old.integer:
        differences.append(Difference("TYPE_NARROWED"))
    return differences


def compare_choices(old: Choice, new: Choice) -> list[Difference]:
    """Whether all old values are still allowed."""
    if old.values <= new.values:
        return []
    return [Difference("ENUM_ARRAY_NARROWED" if new.values < old.values else "ENUM_ARRAY_CHANGED", ("enum",))]


def compare_constants(old: Constant, new: Constant) -> list[Difference]:
    """Whether the value is the same."""
    return [] if old.value == new.value else [Difference("ENUM_ARRAY_CHANGED", ("const",))]


def upper_limit(keyword: str, name: str, old: Limit, new: Limit) -> list[Difference]:
    """Nothing where the limit went up or away."""
    if new is None or (old is not None and old <= new):
        return []
    return [Difference(f"{name}_ADDED" if old is None else f"{name}_DECREASED", (keyword,))]


def lower_limit(keyword: str, name: str, old: Limit, new: Limit) -> list[Difference]:
    """Nothing where the limit went down or away."""
    if new is None or (old is not None and old >= new):
        return []
    return [Difference(f"{name}_ADDED" if old is None else f"{name}_INCREASED", (keyword,))]


def _compare_divisors(old: Limit, new: Limit) -> list[Difference]:
    if new is None or old == new:
        return []
    if old is None:
        return [Difference("MULTIPLE_OF_ADDED", ("multipleOf",))]
    small_old, small_new = _exact(old), _exact(new)
    if small_old is None or small_new is None:
        return [Difference("MULTIPLE_OF_CHANGED", ("multipleOf",))]
    if small_new % small_old == 0:
        return [Difference("MULTIPLE_OF_EXPANDED", ("multipleOf",))]
    if small_old % small_new == 0:
        return []
    return [Difference("MULTIPLE_OF_CHANGED", ("multipleOf",))]


def _exact(number: int | Decimal) -> Fraction | None:
    """The number as a fraction; None for one whose digits would fill the memory, and for zero."""
    if number == 0 or (isinstance(number, Decimal) and abs(number.adjusted()) > _MOST_DIGITS):
        return None
    return Fraction(number)
