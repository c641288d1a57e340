"""The process of a switch is killed with SIGKILL while it moves the registry, and resumed by another process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import TWINLOG
from tests.kit.registry import RegistryProcess, avro
from tests.kit.switches import IDENTITY, service_running
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
SCHEMAS = 200
MOMENTS = (("begun", "fenced", "sent"), ("begun", "fenced", "written"))
"""At which the processes of a switch are killed, one after the other. Whether a process that was killed at "sent" wrote
its records is not known, so the next one may have nothing to send."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def _die_in(step: str, moments: Sequence[str], words: Sequence[str], where: Sequence[str], log: Path) -> None:
    """Begin a switch and resume it, each time in a process that is killed at the next moment of a step."""
    journal, resume = Path(where[-1]), ("switch", "resume", words[1])
    for number, moment in enumerate(moments):
        said = [sys.executable, "-m", "tests.kit.killed_in_registry_step", step, moment]
        with log.open("ab") as out:
            done = subprocess.run(
                [*said, *(resume if number else words), *where],
                stdout=out,
                stderr=out,
                start_new_session=True,
                timeout=240,
                check=False,
            )
        assert (done.returncode, _open_step(journal)) == (-signal.SIGKILL, step), f"{moment}: {log.read_text()[-3000:]}"


def _open_step(journal: Path) -> str:
    """The step that the newest local journal says was begun last; empty if anything was noted behind it."""
    file = max(journal.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    last = json.loads(file.read_text().splitlines()[-1])
    return str(last["step"]) if last.get("event") == "begun" else ""


def _command(*words: str) -> dict[str, Any]:
    done = subprocess.run([*TWINLOG, *words, "-o", "json"], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.proves("R27")
@pytest.mark.parametrize("moments", MOMENTS, ids="-".join)
def test_a_killed_switch_is_resumed_and_no_schema_is_lost_or_doubled(
    make_ends: Callable[..., Ends], tmp_path: Path, stack: ExitStack, moments: Sequence[str]
) -> None:
    mark = uuid4().hex[:8]
    registry = {"registry_topic": f"_schemas_{mark}", "registry_group_id": f"sr-{mark}", "registry_id_gap": "1000"}
    ends = make_ends(replication_policy_class=IDENTITY, switch_grace_seconds="0", **registry)

    def instance(bootstrap: str) -> RegistryProcess:
        own = {
            "kafkastore.topic": registry["registry_topic"],
            "schema.registry.group.id": registry["registry_group_id"],
        }
        made = RegistryProcess(tmp_path, bootstrap, **own)
        stack.callback(made.kill)
        return made.start()

    def await_role(one: RegistryProcess, role: str) -> None:
        one.await_ready(leader=False)
        wait_until(lambda: one.facts()["role"], lambda seen: seen == role, within_s=90, what=role)

    ends.create("orders")
    home = instance(ends.source_cluster.bootstrap_servers).await_ready()
    known = {f"h{n}": home.register(f"h{n}", avro(f"H{n}", "a")).body["id"] for n in range(20)}
    file, journal, log = ends.write_file(tmp_path), tmp_path / "switch", tmp_path / "switch.log"
    link, where = f"{ends.alias}->T", ["-c", str(file), "--folder", str(journal)]
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        away = instance(ends.target_cluster.bootstrap_servers)
        await_role(away, "copy")
        wait_until(lambda: away.facts()["versions"], lambda count: count == len(known), within_s=60, what="the schemas")
        _die_in("registry", moments, ["failover", link, "--planned", "--yes"], where, log)
        assert _command("switch", "resume", link, *where)["outcome"] == "done"
    await_role(away, "leader")
    assert away.facts()["term"] == 1
    known |= {f"a{n}": away.register(f"a{n}", avro(f"A{n}", "a")).body["id"] for n in range(SCHEMAS)}
    _die_in("registry-home", moments, ["failback", link, "--delta", "--yes"], where, log)
    assert _command("switch", "resume", link, *where)["outcome"] == "done"
    wait_until(lambda: home.facts()["term"], lambda term: term == 2, within_s=60, what="the home leads again")
    found = {name: home.ask("GET", f"/subjects/{name}/versions/1").body.get("id") for name in known}
    assert found == known
    assert len(set(known.values())) == len(known)
    assert {tuple(home.ask("GET", f"/subjects/{name}/versions").body) for name in known} == {(1,)}
