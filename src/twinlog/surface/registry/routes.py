"""Which handler answers which verb under which path."""

from collections.abc import Awaitable, Callable
from typing import Final

from twinlog.surface.registry import reading, writing
from twinlog.surface.registry.exchange import Answer, NoSuchPath, Request
from twinlog.surface.registry.registry import Registry

Handler = Callable[[Registry, Request], Awaitable[Answer]]


class WrongVerb(Exception):
    """The path is known, but not for this verb."""


_ANY: Final = "*"
_ROUTES: Final[tuple[tuple[tuple[str, ...], dict[str, Handler]], ...]] = (
    ((), {"GET": reading.root, "POST": reading.root}),
    (("schemas",), {"GET": reading.schemas}),
    (("schemas", "types"), {"GET": reading.types}),
    (("schemas", "ids", _ANY), {"GET": reading.schema_by_id}),
    (("schemas", "ids", _ANY, "schema"), {"GET": reading.text_by_id}),
    (("schemas", "ids", _ANY, "subjects"), {"GET": reading.subjects_of_id}),
    (("schemas", "ids", _ANY, "versions"), {"GET": reading.versions_of_id}),
    (("schemas", "guids", _ANY), {"GET": reading.schema_by_guid}),
    (("schemas", "guids", _ANY, "ids"), {"GET": reading.ids_of_guid}),
    (("subjects",), {"GET": reading.subjects}),
    (("subjects", _ANY), {"POST": reading.lookup, "DELETE": writing.delete_subject}),
    (("subjects", _ANY, "metadata"), {"GET": reading.metadata}),
    (("subjects", _ANY, "versions"), {"GET": reading.versions, "POST": writing.register}),
    (("subjects", _ANY, "versions", _ANY), {"GET": reading.version, "DELETE": writing.delete_version}),
    (("subjects", _ANY, "versions", _ANY, "schema"), {"GET": reading.version_text}),
    (("subjects", _ANY, "versions", _ANY, "referencedby"), {"GET": reading.referenced_by}),
    (
        ("compatibility", "subjects", _ANY, "versions", _ANY),
        {"POST": reading.compatibility_with_version},
    ),
    (("compatibility", "subjects", _ANY, "versions"), {"POST": reading.compatibility_with_all}),
    (("config",), {"GET": reading.config, "PUT": writing.put_config, "DELETE": writing.delete_config}),
    (("config", _ANY), {"GET": reading.config, "PUT": writing.put_config, "DELETE": writing.delete_config}),
    (("mode",), {"GET": reading.mode, "PUT": writing.put_mode, "DELETE": writing.delete_mode}),
    (("mode", _ANY), {"GET": reading.mode, "PUT": writing.put_mode, "DELETE": writing.delete_mode}),
    (("contexts",), {"GET": reading.contexts}),
    (("contexts", _ANY), {"DELETE": writing.delete_context}),
    (("v1", "metadata", "id"), {"GET": reading.cluster}),
    (("v1", "metadata", "version"), {"GET": reading.server_version}),
    (("v1", "metadata", "deployment"), {"GET": reading.deployment}),
)
_BY_LENGTH: Final[dict[int, list[tuple[tuple[str, ...], dict[str, Handler]]]]] = {}
for _pattern, _verbs in _ROUTES:
    _BY_LENGTH.setdefault(len(_pattern), []).append((_pattern, _verbs))

WRITES: Final[frozenset[Handler]] = frozenset(
    {
        writing.register,
        writing.delete_subject,
        writing.delete_version,
        writing.put_config,
        writing.delete_config,
        writing.put_mode,
        writing.delete_mode,
        writing.delete_context,
    }
)
"""Only the leader carries these out."""


_METHODS: Final = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT")
"""In the order in which Confluent's server lists them."""


def methods_of(request: Request) -> list[str]:
    """The methods of a path. Raises NoSuchPath."""
    verbs = {*_verbs_of(request), "OPTIONS"}
    return [method for method in _METHODS if method in verbs or (method == "HEAD" and "GET" in verbs)]


def handler_of(request: Request) -> Handler:
    """Raises NoSuchPath or WrongVerb."""
    verbs = _verbs_of(request)
    method = "GET" if request.method == "HEAD" else request.method
    if method not in verbs:
        raise WrongVerb
    return verbs[method]


def _verbs_of(request: Request) -> dict[str, Handler]:
    for pattern, verbs in _BY_LENGTH.get(len(request.segments), ()):
        if all(part in (_ANY, given) for part, given in zip(pattern, request.segments, strict=True)):
            return verbs
    raise NoSuchPath
