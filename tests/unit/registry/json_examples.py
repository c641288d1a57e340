"""Generated JSON Schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "name", "x-1"])
_PLAIN = st.one_of(
    st.just({}),
    st.booleans(),
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 9), "pattern": st.just("^a")}
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(-5, 5), "maximum": st.integers(6, 9), "multipleOf": st.integers(1, 6)},
    ),
    st.fixed_dictionaries({"type": st.sampled_from(["boolean", "null"])}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["x", 1, None, True, 2.5]), min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": st.sampled_from(["x", 1, False])}),
    st.just({"$ref": "#/definitions/shared"}),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
            optional={
                "required": st.lists(NAMES, max_size=2, unique=True),
                "additionalProperties": st.one_of(st.booleans(), inner),
                "patternProperties": st.dictionaries(st.just("^x"), inner, max_size=1),
                "description": st.text(max_size=5),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 3), "uniqueItems": st.booleans()},
        ),
        st.fixed_dictionaries({"type": st.just(["object", "null"]), "properties": st.dictionaries(NAMES, inner)}),
        *(
            st.fixed_dictionaries({criterion: st.lists(inner, min_size=1, max_size=3)})
            for criterion in ("allOf", "anyOf", "oneOf")
        ),
        st.fixed_dictionaries({"not": inner}),
    )


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of all drafts, with one shared definition."""
    drafts = st.sampled_from(
        [
            "http://json-schema.org/draft-06/schema#",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema",
            "https://json-schema.org/draft/2020-12/schema",
        ]
    )
    tops = st.recursive(_PLAIN, _nested, max_leaves=8).filter(lambda top: isinstance(top, dict))
    return st.builds(
        lambda draft, top: {"$schema": draft, **top, "definitions": {"shared": {"type": "string"}}}, drafts, tops
    )
