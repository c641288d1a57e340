"""Random Avro schemas for the property tests: JSON values that every Avro parser accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)
DEFAULTS: dict[str, Any] = {"int": 7, "long": -1, "double": 1.5, "string": "x", "boolean": True, "null": None}
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
props = st.dictionaries(st.sampled_from(["p", "zeta", "connect.name", "ä"]), json_values, max_size=2)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A schema whose named types have different names: T1, T2 and so on."""
    return draw(_types(_Counter(), 3))


class _Counter:
    def __init__(self) -> None:
        self.made = 0


@st.composite
def _types(draw: st.DrawFn, counter: _Counter, depth: int) -> Any:
    kinds = ["primitive", "enum", "fixed"] + (["array", "map", "record", "record"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "primitive":
        name = draw(st.sampled_from(sorted(DEFAULTS)))
        extra = draw(props)
        return {"type": name, **extra} if extra else name
    if kind == "array":
        return {"type": "array", "items": draw(_types(counter, depth - 1)), **draw(props)}
    if kind == "map":
        return {"type": "map", "values": draw(_types(counter, depth - 1)), **draw(props)}
    counter.made += 1
    head: dict[str, Any] = {"type": kind, "name": f"T{counter.made}", **draw(props)}
    if draw(st.booleans()):
        head["namespace"] = draw(st.sampled_from(["a", "a.b", ""]))
    if draw(st.booleans()):
        head["doc"] = draw(st.text(max_size=5))
    if kind == "enum":
        return {**head, "symbols": draw(st.lists(names, min_size=1, max_size=3, unique=True))}
    if kind == "fixed":
        return {**head, "size": draw(st.integers(0, 9))}
    fields = []
    for name in draw(st.lists(names, max_size=3, unique=True)):
        field: dict[str, Any] = {"name": name, "type": draw(_types(counter, depth - 1)), **draw(props)}
        plain = field["type"] if isinstance(field["type"], str) else None
        if plain is not None and draw(st.booleans()):
            field["default"] = DEFAULTS[plain]
        fields.append(field)
    return {**head, "fields": fields}
