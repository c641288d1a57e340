"""The same requests to a real Kafka Connect worker and to us: the same status codes, the same shapes of JSON.

Where we differ on purpose stands in DIFFERENCES with the reason; docs/connect-api.md lists the same for operators.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.connect_worker import Answer, ask, connect_running
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

Ask = Callable[..., Answer]


class Step(NamedTuple):
    method: str
    path: str
    body: Any = None
    raw: bytes | None = None
    headers: dict[str, str] | None = None
    # Until then the step is asked again: both sides carry orders out in their own time.
    until: Callable[[Answer], bool] | None = None


_JSON: Final = "Connect answers what it cannot parse with 500, as if it were at fault; the request is: 400"
_INTERNAL: Final = "workers talk to each other by them"
_ODD_NAME: Final = "Connect makes it, and then nobody can ask for it"
_NO_RESET: Final = "topics are those of the ledger and cannot be forgotten apart from it: 403, as with tracking off"
DIFFERENCES: Final[dict[str, tuple[int, int, str]]] = {
    "POST /connectors {": (500, 400, _JSON),
    "POST /connectors []": (500, 400, _JSON),
    "POST /connectors ": (500, 400, _JSON),
    "POST /connectors no config": (500, 400, _JSON),
    "POST /connectors nested": (500, 400, _JSON),
    "POST /connectors unknown state": (500, 400, _JSON),
    "POST /connectors unknown field": (500, 400, _JSON),
    "PUT /connectors/c/config []": (500, 400, _JSON),
    "PATCH /connectors/c/offsets x": (500, 400, _JSON),
    "PATCH offsets without partition": (500, 400, _JSON),
    "PATCH offsets of nothing": (200, 400, "a position cannot be given to a partition that the link does not copy"),
    "PATCH /connectors/c/config renames": (200, 400, "Connect lets config and connector have different names by this"),
    "PUT /connectors/c/topics/reset": (202, 403, _NO_RESET),
    "PUT /connectors/none/topics/reset": (202, 403, _NO_RESET),
    "validate unknown class": (500, 400, _JSON),
    "validate nothing": (500, 400, _JSON),
    "second connector of a pair": (201, 400, "a pair of clusters has one link, and so one ledger"),
    "PUT /admin/loggers/org.x": (200, 404, "there are no Java loggers"),
    "offsets with more": (500, 400, _JSON),
    "forget twice the same": (200, 400, "a position cannot be given to a partition that the link does not copy"),
    "OPTIONS /connectors": (200, 405, "which ways there are says `/openapi.json`"),
    "GET /connectors text/plain": (406, 200, "the answer is JSON, whatever was wished for"),
    "PUT /connectors/none/fence": (400, 404, _INTERNAL),
    "POST /connectors/none/tasks": (400, 405, _INTERNAL),
    "create odd name": (201, 400, _ODD_NAME),
    "delete odd name": (400, 404, _ODD_NAME),
}
SHAPES: Final = {"offsets of beats": "sync jobs keep no positions"}
"""Answers that differ in their shape alone."""


def steps(source: str, target: str) -> dict[str, Step]:
    def config(kind: str = "Source", **more: Any) -> dict[str, Any]:
        factors = (
            "replication.factor",
            *(f"{what}.topic.replication.factor" for what in ("offset-syncs", "heartbeats")),
        )
        return {
            "connector.class": f"org.apache.kafka.connect.mirror.Mirror{kind}Connector",
            "source.cluster.alias": "A",
            "target.cluster.alias": "B",
            "source.cluster.bootstrap.servers": source,
            "target.cluster.bootstrap.servers": target,
            "topics": "nothing",
            **dict.fromkeys(factors, "1"),
            **{key.replace("_", "."): value for key, value in more.items()},
        }

    def state(wanted: str) -> Callable[[Answer], bool]:
        return lambda answer: answer.body.get("connector", {}).get("state") == wanted

    place = {"cluster": "A", "topic": "nothing", "partition": 0}
    listed = [
        Step("GET", "/"),
        Step("GET", "/health"),
        Step("GET", "/connectors"),
        Step("GET", "/connectors?expand=bogus"),
        Step("POST", "/connectors", raw=b"{"),
        Step("POST", "/connectors", raw=b"[]"),
        Step("POST", "/connectors", raw=b""),
        Step("GET", "/connectors/none"),
        Step("GET", "/connectors/none/status"),
        Step("GET", "/connectors/none/config"),
        Step("GET", "/connectors/none/tasks"),
        Step("GET", "/connectors/none/tasks/0/status"),
        Step("GET", "/connectors/none/topics"),
        Step("GET", "/connectors/none/offsets"),
        Step("PUT", "/connectors/none/pause"),
        Step("PUT", "/connectors/none/stop"),
        Step("PUT", "/connectors/none/resume"),
        Step("PUT", "/connectors/none/topics/reset"),
        Step("POST", "/connectors/none/restart"),
        Step("POST", "/connectors/none/tasks/0/restart"),
        Step("DELETE", "/connectors/none"),
        Step("DELETE", "/connectors/none/offsets"),
        Step("GET", "/nowhere"),
        Step("POST", "/"),
        Step("DELETE", "/connectors"),
        Step("GET", "/connector-plugins"),
        Step("GET", "/connector-plugins/MirrorSource/config"),
        Step("GET", "/connector-plugins/Nothing/config"),
        Step("GET", "/admin/loggers/root"),
        Step("GET", "/admin/loggers/nope"),
        Step("PUT", "/admin/loggers/org.x", {"level": "WARN"}),
        # the same thing asked for in other ways
        Step("GET", "/connectors/"),
        Step("GET", "/connector-plugins/"),
        Step("GET", "/connectors?expand=status"),
        Step("GET", "/connectors?expand=info"),
        Step("GET", "/connectors?unknown=1"),
        Step("GET", "/connector-plugins?connectorsOnly=false"),
        Step("GET", "/connector-plugins?connectorsOnly=maybe"),
        Step("GET", "/connector-plugins/org.apache.kafka.connect.mirror.MirrorHeartbeatConnector/config"),
        Step("HEAD", "/connectors"),
        Step("HEAD", "/"),
        Step("OPTIONS", "/connectors"),
        Step("GET", "/connectors", headers={"Accept": "text/plain"}),
        Step("GET", "/connectors", headers={"Accept": "text/html,*/*;q=0.8"}),
        # what is not taken this way
        Step("PUT", "/connectors"),
        Step("PATCH", "/connectors"),
        Step("POST", "/connectors/none"),
        Step("PATCH", "/connectors/none"),
        Step("POST", "/connectors/none/config", {}),
        Step("DELETE", "/connectors/none/config"),
        Step("GET", "/connectors/none/pause"),
        Step("POST", "/connectors/none/pause"),
        Step("GET", "/connectors/none/restart"),
        Step("GET", "/connectors/none/topics/reset"),
        Step("GET", "/connectors/none/tasks-config"),
        Step("PUT", "/connectors/none/fence"),
        Step("POST", "/connectors/none/tasks", []),
        Step("DELETE", "/admin/loggers/root"),
        Step("GET", "/connector-plugins/MirrorSource/config/validate"),
        Step("GET", "/admin"),
        Step("POST", "/connectors", raw=b"{}", headers={"Content-Type": "text/plain"}),
        Step("PUT", "/connectors/none/config", raw=b"{}", headers={"Content-Type": "application/xml"}),
        Step("PUT", "/admin/loggers/root", raw=b"{}", headers={"Content-Type": "text/plain"}),
    ]
    named = {
        "POST /connectors no config": Step("POST", "/connectors", {"name": "x"}),
        "no name": Step("POST", "/connectors", {"config": {}}),
        "empty name": Step("POST", "/connectors", {"name": "", "config": config()}),
        "no class": Step("POST", "/connectors", {"name": "x", "config": {}}),
        "unknown class": Step("POST", "/connectors", {"name": "x", "config": {"connector.class": "Nothing"}}),
        "two names": Step("POST", "/connectors", {"name": "x", "config": {**config(), "name": "y"}}),
        "null": Step("POST", "/connectors", {"name": "x", "config": {**config(), "n": None}}),
        "not a number": Step("POST", "/connectors", {"name": "x", "config": config(tasks_max="many")}),
        "POST /connectors nested": Step("POST", "/connectors", {"name": "x", "config": {"a": {"b": 1}}}),
        "POST /connectors unknown state": Step(
            "POST", "/connectors", {"name": "x", "config": config(), "initial_state": "gone"}
        ),
        "POST /connectors unknown field": Step("POST", "/connectors", {"name": "x", "config": config(), "bogus": 1}),
        "root level": Step("PUT", "/admin/loggers/root", {"level": "WARN"}),
        "no level": Step("PUT", "/admin/loggers/root", {}),
        "unknown level": Step("PUT", "/admin/loggers/root", {"level": "LOUD"}),
        "level of all": Step("PUT", "/admin/loggers/root?scope=cluster", {"level": "WARN"}),
        "validate": Step("PUT", "/connector-plugins/MirrorSource/config/validate", config(tasks_max="many")),
        "validate mismatch": Step("PUT", "/connector-plugins/MirrorHeartbeat/config/validate", config()),
        "validate unknown class": Step(
            "PUT", "/connector-plugins/Nothing/config/validate", {"connector.class": "Nothing"}
        ),
        "validate nothing": Step("PUT", "/connector-plugins/MirrorSource/config/validate", {}),
        "validate well": Step("PUT", "/connector-plugins/MirrorSource/config/validate", config(name="x")),
        "validate by its whole name": Step(
            "PUT",
            "/connector-plugins/org.apache.kafka.connect.mirror.MirrorSourceConnector/config/validate",
            config(name="x"),
        ),
        "level of nobody knows whom": Step("PUT", "/admin/loggers/root?scope=galaxy", {"level": "WARN"}),
        "level in small letters": Step("PUT", "/admin/loggers/root", {"level": "error"}),
        "now the level": Step(
            "GET", "/admin/loggers/root", until=lambda answer: answer.body["last_modified"] is not None
        ),
        "all levels": Step("GET", "/admin/loggers"),
        "create": Step("POST", "/connectors", {"name": "c", "config": config()}),
        "create again": Step("POST", "/connectors", {"name": "c", "config": config()}),
        "running": Step("GET", "/connectors/c/status", until=state("RUNNING")),
        "create paused": Step(
            "POST", "/connectors", {"name": "p", "config": config("Heartbeat"), "initial_state": "paused"}
        ),
        "paused": Step("GET", "/connectors/p/status", until=state("PAUSED")),
        "create stopped": Step(
            "POST", "/connectors", {"name": "s", "config": config("Checkpoint"), "initial_state": "STOPPED"}
        ),
        "status of stopped": Step("GET", "/connectors/s/status", until=state("STOPPED")),
        "info of stopped": Step("GET", "/connectors/s"),
        "delete stopped": Step("DELETE", "/connectors/s"),
        "create spaced name": Step("POST", "/connectors", {"name": "a b", "config": config("Checkpoint")}),
        "info of spaced name": Step("GET", "/connectors/a%20b"),
        "delete spaced name": Step("DELETE", "/connectors/a%20b"),
        "resume the paused": Step("PUT", "/connectors/p/resume"),
        "beats": Step("GET", "/connectors/p/status", until=_task_runs),
        "tasks": Step("GET", "/connectors/p/tasks"),
        "task": Step("GET", "/connectors/p/tasks/0/status"),
        "restart task": Step("POST", "/connectors/p/tasks/0/restart"),
        "restart the failed": Step("POST", "/connectors/p/restart?onlyFailed=true"),
        "restart all that failed": Step("POST", "/connectors/p/restart?includeTasks=true&onlyFailed=true"),
        "restart none/only failed": Step("POST", "/connectors/none/restart?includeTasks=true&onlyFailed=true"),
        "offsets of beats": Step("GET", "/connectors/p/offsets"),
        "topics of beats": Step("GET", "/connectors/p/topics"),
        "offsets": Step("GET", "/connectors/c/offsets"),
        "status only": Step("GET", "/connectors?expand=status"),
        "info only": Step("GET", "/connectors?expand=info"),
        "one of them unknown": Step("GET", "/connectors?expand=info&expand=bogus"),
        "info": Step("GET", "/connectors/c"),
        "expanded": Step("GET", "/connectors?expand=status&expand=info"),
        "config": Step("GET", "/connectors/c/config"),
        "topics": Step("GET", "/connectors/c/topics"),
        "task that is not": Step("GET", "/connectors/c/tasks/9/status"),
        "task that is no number": Step("GET", "/connectors/c/tasks/abc/status"),
        "put": Step("PUT", "/connectors/c/config", config(topics="nothing.*")),
        "put new": Step("PUT", "/connectors/d/config", config("Checkpoint")),
        "put without class": Step("PUT", "/connectors/c/config", {"a": "b"}),
        "put other name": Step("PUT", "/connectors/c/config", {**config(), "name": "d"}),
        "PUT /connectors/c/config []": Step("PUT", "/connectors/c/config", raw=b"[]"),
        "patch": Step("PATCH", "/connectors/c/config", {"topics": None, "tasks.max": 2}),
        "patch nothing": Step("PATCH", "/connectors/none/config", {}),
        "PATCH /connectors/c/config renames": Step("PATCH", "/connectors/d/config", {"name": "zz"}),
        "restart": Step("POST", "/connectors/c/restart"),
        "restart with tasks": Step("POST", "/connectors/c/restart?includeTasks=true"),
        "restart oddly": Step("POST", "/connectors/c/restart?includeTasks=abc"),
        "restart no task": Step("POST", "/connectors/c/tasks/9/restart"),
        "offsets while running": Step("DELETE", "/connectors/c/offsets"),
        "no offsets": Step("PATCH", "/connectors/c/offsets", {"offsets": []}),
        "no offsets at all": Step("PATCH", "/connectors/c/offsets", {}),
        "PATCH /connectors/c/offsets x": Step("PATCH", "/connectors/c/offsets", raw=b"x"),
        "patch while running": Step(
            "PATCH", "/connectors/c/offsets", {"offsets": [{"partition": place, "offset": None}]}
        ),
        "pause": Step("PUT", "/connectors/c/pause"),
        "pause again": Step("PUT", "/connectors/c/pause"),
        "now paused": Step("GET", "/connectors/c/status", until=state("PAUSED")),
        "stop": Step("PUT", "/connectors/c/stop"),
        "stopped": Step("GET", "/connectors/c/status", until=state("STOPPED")),
        "restart when stopped": Step("POST", "/connectors/c/restart?includeTasks=true"),
        "put when stopped": Step("PUT", "/connectors/c/config", config(topics="nothing.*")),
        "still stopped": Step("GET", "/connectors/c/status"),
        "offsets when stopped": Step("GET", "/connectors/c/offsets"),
        "forget twice the same": Step(
            "PATCH",
            "/connectors/c/offsets",
            {"offsets": [{"partition": place, "offset": None}, {"partition": place, "offset": {"offset": 1}}]},
        ),
        "offsets with more": Step("PATCH", "/connectors/c/offsets", {"offsets": [], "bogus": 1}),
        "tasks when stopped": Step("GET", "/connectors/c/tasks", until=lambda answer: answer.body == []),
        "PATCH offsets without partition": Step(
            "PATCH", "/connectors/c/offsets", {"offsets": [{"offset": {"offset": 1}}]}
        ),
        "PATCH offsets of nothing": Step(
            "PATCH", "/connectors/c/offsets", {"offsets": [{"partition": place, "offset": {"offset": 1}}]}
        ),
        "forget": Step("DELETE", "/connectors/c/offsets"),
        "PUT /connectors/c/topics/reset": Step("PUT", "/connectors/c/topics/reset"),
        "resume": Step("PUT", "/connectors/c/resume"),
        "second connector of a pair": Step("POST", "/connectors", {"name": "again", "config": config()}),
        "delete": Step("DELETE", "/connectors/c"),
        "delete again": Step("DELETE", "/connectors/c", until=lambda answer: answer.status == 404),
        "delete chore": Step("DELETE", "/connectors/d"),
        "delete beats": Step("DELETE", "/connectors/p"),
        "create odd name": Step("POST", "/connectors", {"name": "a/b", "config": config("Checkpoint")}),
        "delete odd name": Step("DELETE", "/connectors/a%2Fb"),
    }
    plain = {f"{step.method} {step.path}{_tail(step)}": step for step in listed}
    return {**plain, **named}


def _task_runs(answer: Answer) -> bool:
    return [task["state"] for task in answer.body.get("tasks", ())] == ["RUNNING"]


def _tail(step: Step) -> str:
    told = "" if step.raw is None else f" {step.raw.decode()}"
    return told if step.headers is None else f"{told} {'; '.join(step.headers.values())}"


def shape(body: Any) -> Any:
    """What kind of thing stands where; maps with free keys and lists by their first."""
    if isinstance(body, dict):
        return {key: shape(value) for key, value in body.items()}
    if isinstance(body, list):
        return [shape(body[0])] if body else []
    return "null" if body is None else type(body).__name__


def comparable(name: str, body: Any) -> Any:
    """Leave out what is no shape: free keys, numbers of tasks, and what only one side has at the moment."""
    found = shape(body)
    if name == "tasks":
        return [sorted(task) for task in body]
    if isinstance(found, dict):
        for key in ("tasks", "config", "configs", "groups"):
            if key in found:
                found[key] = type(body[key]).__name__
        if isinstance(found.get("connector"), dict):
            found["connector"].pop("version", None)
    if "configs" in found_keys(body):
        found["configs"] = shape(body["configs"][0])
        found["configs"]["definition"]["default_value"] = found["configs"]["value"]["value"] = "any"
    if name in {"expanded", "status only", "info only", "one of them unknown"}:
        return {connector: sorted(sides) for connector, sides in body.items()}
    if name in {"config", "GET /connectors", "all levels"}:
        return type(body).__name__
    return found


def alike(theirs: Any, ours: Any) -> bool:
    """Equal, but for lists that only one side has something in: what is copied differs, not how it is told."""
    if isinstance(theirs, list) and isinstance(ours, list):
        return not theirs or not ours or theirs == ours
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return theirs.keys() == ours.keys() and all(alike(theirs[key], ours[key]) for key in theirs)
    return bool(theirs == ours)


def found_keys(body: Any) -> set[str]:
    return set(body) if isinstance(body, dict) else set()


def walk(base: Ask, asked_for: dict[str, Step]) -> dict[str, Answer]:
    answers = {}
    for name, step in asked_for.items():

        def once(step: Step = step) -> Answer:
            return base(step.method, step.path, step.body, step.raw, headers=step.headers)

        # A worker that is busy with an earlier order says so, and wants to be asked again.
        accept = step.until or (lambda answer: answer.status != 409 or "momentarily" not in str(answer.body))
        answers[name] = wait_until(once, accept, within_s=60, what=name)
    return answers


def test_a_real_worker_answers_the_same(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source, target = (
        cluster.client_properties("admin")["bootstrap.servers"] for cluster in (source_cluster, target_cluster)
    )
    asked_for = steps(source, target)
    with connect_running(target_cluster, tmp_path) as worker:
        theirs = walk(lambda *step, **more: ask(worker, *step, **more), asked_for)
    service = PaperService(PaperTopic())
    service.runner.there = []
    with asked(service) as client:

        def ours_to(method: str, path: str, body: Any, raw: bytes | None, *, headers: dict[str, str] | None) -> Answer:
            sent: dict[str, Any] = {"content": raw} if raw is not None else {"json": body} if body is not None else {}
            told = {"content-type": "application/json", "accept": "application/json"}
            told |= {name.lower(): value for name, value in (headers or {}).items()}
            answer = client.request(method, path, headers=told, follow_redirects=False, **sent)
            return Answer(answer.status_code, answer.json() if answer.content else None, dict(answer.headers))

        ours = walk(ours_to, asked_for)
    differing: list[tuple[str, Any, Answer, Answer]] = []
    for name in asked_for:
        expected = (theirs[name].status, theirs[name].status)
        if name in DIFFERENCES:
            expected = DIFFERENCES[name][:2]
        if (theirs[name].status, ours[name].status) != expected:
            differing.append((name, expected, theirs[name], ours[name]))
        elif (
            expected[0] == expected[1]
            and name not in SHAPES
            and (
                not alike(comparable(name, theirs[name].body), comparable(name, ours[name].body))
                or ("location" in theirs[name].headers) != ("location" in ours[name].headers)
            )
        ):
            differing.append((name, "shape", theirs[name], ours[name]))
    assert not differing, "\n".join(map(str, differing))
    assert {*DIFFERENCES, *SHAPES} <= set(asked_for)
    page = Path("docs/connect-api.md").read_text()
    reasons = {*(reason for _, _, reason in DIFFERENCES.values()), *SHAPES.values()}
    assert {reason for reason in reasons if reason not in page} == set(), "differences that operators are not told"
