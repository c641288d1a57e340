"""Addresses inside and outside of a schema of the drafts 2019-09 and 2020-12: `$id`, `$anchor`, `$ref`."""

from collections.abc import Mapping
from typing import Any

from twinlog.registry.schemas.json.keywords import refuse
from twinlog.registry.schemas.json.uris import checked, is_absolute, resolve, split_fragment, unescaped

ROOT = "UNKNOWN"
"""The address of a schema without `$id`."""

_METASCHEMAS = (
    "https://json-schema.org/draft/2019-09/",
    "https://json-schema.org/draft/2020-12/",
    "http://json-schema.org/draft/2019-09/",
    "http://json-schema.org/draft/2020-12/",
)
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"$defs", "properties", "patternProperties", "dependentSchemas", "definitions"})
_SINGLE = frozenset(
    {
        *("additionalProperties", "items", "contains", "not", "if", "then", "else"),
        *("unevaluatedItems", "unevaluatedProperties", "propertyNames"),
    }
)


class Addresses:
    """Knows the documents that may be named, and the parts of them that have an address of their own."""

    def __init__(self, references: Mapping[str, Any]) -> None:
        self._documents = dict(references)
        for name, document in references.items():
            if not is_absolute(name) and not name.startswith("."):
                self._documents.setdefault(f"./{name}", document)
        self._known: dict[str, tuple[Any, str]] = {}

    def enter(self, root: Any) -> str:
        """Notes all addresses of the schema. Returns its base."""
        self._note(root, ROOT)
        self._known[ROOT] = (root, ROOT)
        return ROOT

    def inside(self, json: dict[str, Any], base: str) -> str:
        """The base of what is inside of `json`."""
        own = json.get("$id")
        if not isinstance(own, str) or base.endswith(own):
            return base
        return base + own if base.startswith("urn:") else resolve(base, own)

    def absolute(self, reference: str, base: str) -> str:
        """The address that `reference` means at a place with this base."""
        document, _ = split_fragment(checked(reference))
        if is_absolute(reference) or document in self._documents:
            address = reference
        elif base.startswith("urn:"):
            address = base + reference
        else:
            address = resolve(base, reference)
        return address.removesuffix("#")

    def is_metaschema(self, address: str) -> bool:
        return address.startswith(_METASCHEMAS)

    def find(self, address: str) -> tuple[Any, str]:
        """The value behind an address and the base around it; refuses what is neither here nor among the references."""
        name, fragment = split_fragment(address)
        if name not in self._known:
            if name not in self._documents:
                refuse(f"{address} is neither part of the schema nor one of its references")
            self._known[name] = (self._documents[name], name)
            self._note(self._documents[name], name)
        document, base = self._known[name]
        if fragment in {"", "#"}:
            return document, base
        if address in self._known:
            return self._known[address]
        return self._pointed(document, fragment, base)

    def _pointed(self, value: Any, fragment: str, base: str) -> tuple[Any, str]:
        steps = fragment.split("/")
        if steps[0] != "#":
            refuse(f"{fragment} is neither an anchor nor a JSON pointer")
        for step in steps[1:]:
            key = unescaped(step)
            if isinstance(value, dict) and key in value:
                base = self.inside(value, base)
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                refuse(f"{fragment} points to nothing: there is no {key}")
        return value, base

    def _note(self, root: Any, base: str) -> None:
        waiting = [(root, base)]
        while waiting:
            json, around = waiting.pop()
            if not isinstance(json, dict):
                continue
            inner = self.inside(json, around)
            if isinstance(json.get("$id"), str):
                self._known[inner.removesuffix("#")] = (json, around)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(json.get(keyword), str):
                    self._known[resolve(inner, f"#{json[keyword]}")] = (json, around)
            for keyword, member in json.items():
                if keyword in _SINGLE:
                    waiting.append((member, inner))
                elif keyword in _LISTS and isinstance(member, list):
                    waiting.extend((item, inner) for item in member)
                elif keyword in _MAPS and isinstance(member, dict):
                    waiting.extend((item, inner) for item in member.values())
