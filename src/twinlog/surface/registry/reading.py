"""Handlers of requests that read."""

from collections.abc import Callable
from typing import Any, Final

from twinlog.registry import reads, refusals
from twinlog.registry.bodies import bare_version, full_version
from twinlog.registry.checking import in_worker
from twinlog.registry.compatibility_check import Version, problems
from twinlog.registry.lookup import look_up
from twinlog.registry.parsing import KINDS, how_to_read
from twinlog.registry.refusals import Refusal
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.scopes import config_in_scope, mode_in_scope, own_config, own_mode
from twinlog.registry.state import Entry
from twinlog.registry.subject_names import WILDCARD, is_default_scope, normalized
from twinlog.surface.registry.bodies import check_texts, read_schema
from twinlog.surface.registry.exchange import Answer, NoSuchPath, Request, json_answer
from twinlog.surface.registry.registry import Registry

_LARGEST: Final = 2**31 - 1


def wanted_version(text: str) -> int | None:
    """A version of a path: a number, or None for the latest. Raises Refusal 42202."""
    if text.strip().lower() == "latest" or text.strip() == "-1":
        return None
    try:
        number = int(text)
    except ValueError:
        raise refusals.invalid_version(text) from None
    if not 1 <= number <= _LARGEST:
        raise refusals.invalid_version(text)
    return number


def wanted_id(text: str) -> int:
    """An id of a path. Raises NoSuchPath for what is no number."""
    try:
        number = int(text)
    except ValueError:
        raise NoSuchPath from None
    if not -_LARGEST - 1 <= number <= _LARGEST:
        raise NoSuchPath
    return number


# --- schemas ---------------------------------------------------------------------------------------------------------


async def root(_registry: Registry, request: Request) -> Answer:
    """Asked by load balancers."""
    check_texts(request.body)
    return json_answer({})


async def types(_registry: Registry, _request: Request) -> Answer:
    """Kinds of schemas."""
    return json_answer(list(KINDS))


async def schemas(registry: Registry, request: Request) -> Answer:
    """Versions of all subjects."""
    start, end = request.page(registry.rules.most_listed)
    rows = reads.schemas(
        registry.state,
        request.text("subjectPrefix"),
        deleted=request.flag("deleted"),
        latest_only=request.flag("latestOnly"),
        aliases=request.flag("aliases"),
        rule_type=request.text("ruleType") or None,
    )
    return json_answer(rows[start:end])


async def schema_by_id(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/ids/{id}`."""
    row = reads.schema_by_id(
        registry.state,
        registry.parser,
        wanted_id(request.segments[2]),
        normalized(request.text("subject")),
        form=request.text("format"),
        qualified=request.text("referenceFormat") == "qualified",
        with_max=request.flag("fetchMaxId"),
    )
    return json_answer(row)


async def text_by_id(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/ids/{id}/schema`."""
    subject, form = normalized(request.text("subject")), request.text("format")
    text = reads.text_by_id(registry.state, registry.parser, wanted_id(request.segments[2]), subject, form)
    return Answer(200, text.encode("utf-8", "replace"))


async def subjects_of_id(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/ids/{id}/subjects`."""
    start, end = request.page()
    versions = _versions_of_id(registry, request)
    return json_answer([version["subject"] for version in versions][start:end])


async def versions_of_id(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/ids/{id}/versions`."""
    start, end = request.page()
    return json_answer(_versions_of_id(registry, request)[start:end])


def _versions_of_id(registry: Registry, request: Request) -> list[dict[str, Any]]:
    schema_id, subject = wanted_id(request.segments[2]), normalized(request.text("subject"))
    return reads.versions_of_id(registry.state, schema_id, subject, deleted=request.flag("deleted"))


async def schema_by_guid(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/guids/{guid}`."""
    return json_answer(
        reads.schema_by_guid(registry.state, registry.parser, request.segments[2], request.text("format"))
    )


async def ids_of_guid(registry: Registry, request: Request) -> Answer:
    """`GET /schemas/guids/{guid}/ids`."""
    return json_answer(reads.ids_of_guid(registry.state, request.segments[2]))


# --- subjects --------------------------------------------------------------------------------------------------------


async def subjects(registry: Registry, request: Request) -> Answer:
    """`GET /subjects`."""
    names = reads.subject_names(
        registry.state,
        request.text("subjectPrefix", WILDCARD),
        deleted=request.flag("deleted"),
        deleted_only=request.flag("deletedOnly"),
    )
    start, end = request.page()
    return json_answer(names[start:end])


async def versions(registry: Registry, request: Request) -> Answer:
    """`GET /subjects/{subject}/versions`."""
    start, end = request.page()
    numbers = reads.version_numbers(
        registry.state,
        normalized(request.segments[1]),
        deleted=request.flag("deleted"),
        deleted_only=request.flag("deletedOnly"),
        negative=request.flag("deletedAsNegative"),
    )
    return json_answer(numbers[start:end])


def _entry(registry: Registry, request: Request, *, deleted: bool) -> Entry:
    subject, version = normalized(request.segments[1]), wanted_version(request.segments[3])
    return reads.version_of(registry.state, subject, version, deleted=deleted)


async def version(registry: Registry, request: Request) -> Answer:
    """`GET /subjects/{subject}/versions/{version}`."""
    entry = _entry(registry, request, deleted=request.flag("deleted"))
    qualified = request.text("referenceFormat") == "qualified"
    form = request.text("format")
    return json_answer(reads.version_object(registry.state, registry.parser, entry, form=form, qualified=qualified))


async def version_text(registry: Registry, request: Request) -> Answer:
    """`GET /subjects/{subject}/versions/{version}/schema`."""
    entry = _entry(registry, request, deleted=request.flag("deleted"))
    text = reads.formatted(registry.state, registry.parser, entry, request.text("format")) or entry.content.text
    return Answer(200, text.encode("utf-8", "replace"))


async def referenced_by(registry: Registry, request: Request) -> Answer:
    """`GET /subjects/{subject}/versions/{version}/referencedby`."""
    start, end = request.page(registry.rules.most_listed)
    return json_answer(reads.referenced_by(registry.state, _entry(registry, request, deleted=True))[start:end])


async def metadata(registry: Registry, request: Request) -> Answer:
    """`GET /subjects/{subject}/metadata`."""
    pairs = dict(zip(request.texts("key"), request.texts("value"), strict=False))
    subject, form = normalized(request.segments[1]), request.text("format")
    deleted = request.flag("deleted")
    return json_answer(reads.with_metadata(registry.state, registry.parser, subject, pairs, deleted=deleted, form=form))


async def lookup(registry: Registry, request: Request) -> Answer:
    """Under which version a subject has a schema."""
    wanted = read_schema(request.body, normalized(request.segments[1]), "lookUpSchemaUnderSubject.arg5")
    deleted = request.flag("deleted")
    normal = wants_normal(registry, request, wanted.subject)
    await registry.read_large(wanted, normalize=normal)
    hit = look_up(registry.state, registry.parser, wanted, registry.rules, normalize=normal, deleted=deleted)
    if hit is None and normal:
        hit = look_up(registry.state, registry.parser, wanted, registry.rules, normalize=False, deleted=deleted)
    if hit is None:
        if not registry.state.has_subject(wanted.subject, deleted=deleted):
            raise refusals.subject_not_found(wanted.subject)
        raise refusals.schema_not_found()
    text = reads.formatted(registry.state, registry.parser, hit.entry, request.text("format"))
    return json_answer(bare_version(hit.entry, text=text) if hit.exact else full_version(hit.entry, text=text))


def wants_normal(registry: Registry, request: Request, subject: str) -> bool:
    """Whether the request or the settings of the subject ask for normalized schemas."""
    return request.flag("normalize") or bool(
        config_in_scope(registry.state, subject, registry.rules.default_level).get("normalize")
    )


# --- compatibility ---------------------------------------------------------------------------------------------------


async def compatibility_with_version(registry: Registry, request: Request) -> Answer:
    """`POST /compatibility/subjects/{subject}/versions/{version}`."""
    subject, number = normalized(request.segments[2]), wanted_version(request.segments[4])
    wanted = _read_checked(request, subject, "testCompatibilityBySubjectName.arg4")
    if isinstance(wanted, Answer):
        return wanted
    entry = registry.state.latest(subject) if number is None else registry.state.entry(subject, number)
    if entry is not None and entry.deleted:
        entry = None
    if entry is None and number is not None:
        raise refusals.version_not_found(number)
    return await _compatibility(registry, request, wanted, [] if entry is None else [entry])


async def compatibility_with_all(registry: Registry, request: Request) -> Answer:
    """`POST /compatibility/subjects/{subject}/versions`."""
    wanted = _read_checked(request, normalized(request.segments[2]), "testCompatibilityForSubject.arg3")
    if isinstance(wanted, Answer):
        return wanted
    return await _compatibility(registry, request, wanted, registry.state.versions(wanted.subject))


def _read_checked(request: Request, subject: str, argument: str) -> SchemaRequest | Answer:
    """The schema of a check, or the answer for one that cannot be: with `verbose` its mistake is a message."""
    try:
        return read_schema(request.body, subject, argument)
    except Refusal as refusal:
        if not request.flag("verbose") or refusal.code != 42201:
            raise
        return json_answer({"is_compatible": False, "messages": [refusal.message]})


async def _compatibility(registry: Registry, request: Request, wanted: SchemaRequest, earlier: list[Entry]) -> Answer:
    verbose = request.flag("verbose")
    try:
        reasons = await _problems(registry, request, wanted, earlier)
    except Refusal as refusal:
        if not verbose or refusal.code != 42201:
            raise
        reasons = [refusal.message]
    answer: dict[str, Any] = {"is_compatible": not reasons}
    if verbose:
        answer["messages"] = reasons
    return json_answer(answer)


async def _problems(registry: Registry, request: Request, wanted: SchemaRequest, earlier: list[Entry]) -> list[str]:
    if wanted.is_blank:
        raise refusals.invalid_schema("Empty schema")
    config = config_in_scope(registry.state, wanted.subject, registry.rules.default_level)
    if registry.rules.validate_fields and "validateFields" not in config:
        config = {**config, "validateFields": True}
    normal = wants_normal(registry, request, wanted.subject)
    await registry.read_large(wanted, normalize=normal)
    new = registry.parser.of_request(
        registry.state, wanted, how_to_read(registry.state, wanted, registry.rules, normalize=normal)
    )
    if not config["compatibilityLevel"].endswith("_TRANSITIVE") and config.get("compatibilityGroup") is None:
        earlier = earlier[-1:]
    versions = [Version(registry.parser.of_entry(registry.state, e), e.content.metadata, e.version) for e in earlier]
    check = (config, Version(new.schema, new.content.metadata), versions)
    if len(wanted.text or "") + sum(len(e.content.text) for e in earlier) > 32_768 or wanted.kind == "JSON":
        reasons: list[str] = await in_worker(problems, *check)
        return reasons
    return problems(*check)


# --- settings --------------------------------------------------------------------------------------------------------


def scope_of(request: Request) -> str | None:
    """The subject or context whose settings are asked for; None for the default context."""
    name = request.segments[1] if len(request.segments) > 1 else None
    return None if is_default_scope(name) else normalized(name or "")


async def config(registry: Registry, request: Request) -> Answer:
    """`GET /config` and `/config/{subject}`."""
    scope, level = scope_of(request), registry.rules.default_level
    find: Callable[..., Any] = config_in_scope if request.flag("defaultToGlobal") else own_config
    config = find(registry.state, scope, level)
    if config is None:
        raise refusals.level_not_configured(scope)
    return json_answer(config)


async def mode(registry: Registry, request: Request) -> Answer:
    """`GET /mode` and `/mode/{subject}`."""
    scope = scope_of(request)
    mode = mode_in_scope(registry.state, scope) if request.flag("defaultToGlobal") else own_mode(registry.state, scope)
    if mode is None:
        raise refusals.mode_not_configured(scope)
    return json_answer({"mode": mode})


async def contexts(registry: Registry, request: Request) -> Answer:
    """`GET /contexts`."""
    prefix = request.text("contextPrefix")
    names = [name for name in [".", *registry.state.context_names()] if name.startswith(prefix)]
    start, end = request.page()
    return json_answer(names[start:end])


# --- the server itself -----------------------------------------------------------------------------------------------


async def cluster(registry: Registry, _request: Request) -> Answer:
    """`GET /v1/metadata/id`."""
    clusters = {"kafka-cluster": registry.cluster_id, "schema-registry-cluster": registry.group_id}
    answer = json_answer({"scope": {"path": [], "clusters": clusters}})
    answer.volatile = True  # the first answer of Kafka tells its id
    return answer


async def server_version(registry: Registry, _request: Request) -> Answer:
    """`GET /v1/metadata/version`."""
    return json_answer(registry.version)


async def deployment(_registry: Registry, _request: Request) -> Answer:
    """`GET /v1/metadata/deployment`."""
    return json_answer({"attributes": []})
