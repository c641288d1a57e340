"""Field paths of syntax version 2: names joined by dots, names with dots in backticks. Pure."""

from __future__ import annotations


def field_path(text: str) -> list[str]:
    r"""The names of a path. Raises ValueError.

    `a.b` is b in a; "`a.b`.c" is c in the field a.b; a backtick inside of backticks is written \\`.
    """
    names: list[str] = []
    at = 0
    while at <= len(text):
        if text[at : at + 1] == "`":
            end = at + 1
            while end < len(text) and not (
                text[end] == "`" and text[end - 1] != "\\" and text[end + 1 : end + 2] in {"", "."}
            ):
                end += 1
            if end >= len(text):
                raise ValueError(f"Incomplete backtick pair in path: [{text}]")
            names.append(text[at + 1 : end].replace("\\`", "`"))
            at = end + 2
        else:
            end = text.find(".", at)
            end = len(text) if end < 0 else end
            names.append(text[at:end])
            at = end + 1
    return names
