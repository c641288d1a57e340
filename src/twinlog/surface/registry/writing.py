"""Handlers of requests that write. Those that change nothing (a schema that is known) need no leader."""

from typing import Any

from twinlog.registry import refusals
from twinlog.registry.json_out import encode
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.state import MARKS_SUBJECT
from twinlog.registry.subject_names import is_default_scope, is_valid, normalized, split
from twinlog.registry.writes.delete import DeleteContext, DeleteSubject, DeleteVersion
from twinlog.registry.writes.register import Register, known
from twinlog.registry.writes.round import Order, Written
from twinlog.registry.writes.settings import DeleteConfig, DeleteMode, PutConfig, PutMode
from twinlog.surface.registry.bodies import read_config, read_mode, read_schema
from twinlog.surface.registry.exchange import Answer, Request, json_answer
from twinlog.surface.registry.reading import scope_of, wanted_version, wants_normal
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.told_records import RECORDS, WANTED, packed

OFFSET = b"x-registry-offset"
"""Tells a follower up to where it must have read before it passes the answer on."""


async def _write(registry: Registry, request: Request, order: Order) -> Answer:
    written = await registry.store.submit(order)
    plan = written.plan
    body = b"" if plan.status == 204 else encode(plan.answer)
    return _with_offset(Answer(plan.status, body), written, request)


def _with_offset(answer: Answer, written: Written, request: Request) -> Answer:
    """The answer, with the offset that a follower needs when it passed the request on."""
    answer.headers.append((OFFSET, str(written.end).encode()))
    if request.headers.get(WANTED[0]) == WANTED[1] and answer.status != 204 and (told := packed(written)) is not None:
        answer.headers.append((RECORDS, told[0]))
        answer.body += told[1]
    return answer


async def register(registry: Registry, request: Request) -> Answer:
    """`POST /subjects/{subject}/versions`."""
    given = request.segments[1]
    if not request.query and (ready := registry.known.find(registry.state, given, request.body)) is not None:
        return Answer(200, ready)
    wanted = read_schema(request.body, normalized(given), "register.arg5")
    if not is_valid(given):
        raise refusals.invalid_subject(given)
    normal = wants_normal(registry, request, wanted.subject)
    await registry.read_large(wanted, normalize=normal)
    known_answer = known(registry.state, registry.parser, registry.rules, wanted, normalize=normal)
    if known_answer is not None:
        answer = json_answer(_formatted(registry, request, wanted.subject, known_answer))
        entry = registry.state.entry(wanted.subject, known_answer["version"])
        if not request.query and entry is not None and "ts" not in known_answer and _is_fixed(wanted):
            registry.known.keep(registry.state, given, request.body, entry, answer.body)
        return answer
    order = Register(wanted, normal, registry.parser, registry.rules)
    written = await registry.store.submit(order)
    plan = written.plan
    answer = json_answer(_formatted(registry, request, wanted.subject, plan.answer))
    made = registry.state.entry(wanted.subject, plan.answer["version"])
    plain = not request.query and wanted.version == 0 and wanted.id < 0 and _is_fixed(wanted)
    # What it inherited from the version before may be another thing the next time.
    if (
        plain
        and made is not None
        and (made.content.metadata, made.content.rule_set) == (wanted.metadata, wanted.rule_set)
    ):
        registry.known.keep(registry.state, given, request.body, made, answer.body)
    return _with_offset(answer, written, request)


def _is_fixed(wanted: SchemaRequest) -> bool:
    """Whether the same bytes mean the same schema tomorrow: a reference with `-1` follows the newest version."""
    return all(reference.version > 0 for reference in wanted.references)


def _formatted(registry: Registry, request: Request, subject: str, answer: dict[str, Any]) -> dict[str, Any]:
    form = request.text("format")
    if not form.strip():
        return answer
    entry = registry.state.entry(subject, answer["version"])
    if entry is None:
        return answer
    return {**answer, "schema": registry.parser.of_entry(registry.state, entry).formatted(form)}


async def delete_subject(registry: Registry, request: Request) -> Answer:
    """`DELETE /subjects/{subject}`."""
    return await _write(registry, request, DeleteSubject(normalized(request.segments[1]), request.flag("permanent")))


async def delete_version(registry: Registry, request: Request) -> Answer:
    """`DELETE /subjects/{subject}/versions/{version}`."""
    asked = request.segments[3]
    number = wanted_version(asked)
    order = DeleteVersion(normalized(request.segments[1]), number, request.flag("permanent"), asked)
    return await _write(registry, request, order)


async def put_config(registry: Registry, request: Request) -> Answer:
    """`PUT /config` and `/config/{subject}`."""
    named = len(request.segments) > 1
    changes = read_config(request.body, "updateSubjectLevelConfig.arg2" if named else "updateTopLevelConfig.arg1")
    _check_scope(request)
    return await _write(registry, request, PutConfig(scope_of(request), changes))


async def delete_config(registry: Registry, request: Request) -> Answer:
    """`DELETE /config` and `/config/{subject}`."""
    return await _write(registry, request, DeleteConfig(scope_of(request), registry.rules))


async def put_mode(registry: Registry, request: Request) -> Answer:
    """`PUT /mode` and `/mode/{subject}`."""
    named = len(request.segments) > 1
    present, mode, sent = read_mode(request.body, "updateMode.arg2" if named else "updateTopLevelMode.arg1")
    _check_scope(request)
    scope = scope_of(request)
    if mode == "FORWARD" and (scope is None or split(scope) != (".__GLOBAL", "")):
        raise refusals.invalid_mode("Forward mode only supported on global level")
    if not present:
        return json_answer({})
    order = PutMode(scope, mode, request.flag("force"), registry.rules)
    written = await registry.store.submit(order)
    return _with_offset(json_answer({"mode": sent}), written, request)


async def delete_mode(registry: Registry, request: Request) -> Answer:
    """`DELETE /mode` and `/mode/{subject}`."""
    return await _write(registry, request, DeleteMode(scope_of(request), request.flag("recursive"), registry.rules))


async def delete_context(registry: Registry, request: Request) -> Answer:
    """`DELETE /contexts/{context}`."""
    return await _write(registry, request, DeleteContext(normalized(request.segments[1])))


def _check_scope(request: Request) -> None:
    name = request.segments[1] if len(request.segments) > 1 else None
    if is_default_scope(name) or name is None:
        return
    if not is_valid(name, for_settings=True) or normalized(name) == MARKS_SUBJECT:
        raise refusals.invalid_subject(name)
