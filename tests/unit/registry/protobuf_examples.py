"""Generated Protobuf schemas."""

from __future__ import annotations

from hypothesis import strategies as st

SCALARS = ("int32", "sint64", "string", "bytes", "fixed32", "double", "bool")
_TYPES = st.sampled_from([*SCALARS, "A", "B", "B.Inner", "Top", "google.protobuf.Timestamp", "map<string, A>"])
_OPTIONS = st.sampled_from(["", "", " [deprecated = true]", ' [(x.y) = { b: 1, a: "q" }, json_name = "j"]'])


@st.composite
def messages(draw: st.DrawFn, name: str, nested: str = "") -> str:
    """A message with fields, and perhaps a oneof and reserved numbers."""
    tags = draw(st.lists(st.integers(1, 40), unique=True, max_size=6))
    split = draw(st.integers(0, len(tags)))
    lines = []
    for tag in tags[:split]:
        kind = draw(_TYPES)
        label = "" if kind.startswith("map<") else draw(st.sampled_from(["", "repeated ", "optional "]))
        lines.append(f"{label}{kind} f{tag} = {tag}{draw(_OPTIONS)};")
    members = [f"{draw(st.sampled_from(SCALARS))} f{tag} = {tag};" for tag in tags[split:]]
    if members:
        lines.append(f"oneof choice {{ {' '.join(members)} }}")
    if draw(st.booleans()):
        lines.append('reserved 50, 60 to 70, "gone";')
    return f"message {name} {{ {' '.join([*draw(st.permutations(lines)), nested])} }}"


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file of proto3 with two messages, an enum, and perhaps a package and a service."""
    package = draw(st.sampled_from(["", "package p.q;"]))
    service = draw(st.sampled_from(["", "service S { rpc Get (A) returns (stream B); }"]))
    inner = draw(messages("Inner"))
    parts = [draw(messages("A")), draw(messages("B", inner)), "enum Top { ZERO = 0; ONE = 1; }", service]
    imports = 'import "google/protobuf/timestamp.proto";'
    return f'syntax = "proto3"; {package} {imports} {" ".join(parts)}'
