"""The process of a switch is killed with SIGKILL while it moves the registry, and resumed by another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
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
DELAYS_S = (0.0, 0.03, 0.06)
"""How long after the beginning of the step the process is killed. The steps take 0.13 s and 0.2 s."""
LOOK_EVERY_S = 0.002
"""A look every 0.1 s comes when most of a step is over."""
YIELDS = ["nice", "-n", "10"]
"""Before a switch's command: on a busy machine the test, which must hit a short step, gets the processor first."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def _entries(journal: Path) -> list[dict[str, Any]]:
    lines = [line for file in journal.glob("*.jsonl") for line in file.read_text().splitlines() if line.endswith("}")]
    return [json.loads(line) for line in lines]


def _steps(journal: Path) -> list[str]:
    """Steps that the local journal says were begun."""
    return [entry["step"] for entry in _entries(journal) if entry.get("event") == "begun"]


def _ends(journal: Path) -> int:
    """How many switches have ended."""
    return sum(entry.get("kind") == "end" for entry in _entries(journal))


def _kill_in(step: str, words: list[str], journal: Path, delay_s: float, log: Path) -> int:
    """Start a switch as a process, kill it in a step; returns its exit code."""
    before = _steps(journal).count(step)
    with log.open("ab") as out:
        doomed = subprocess.Popen([*YIELDS, *TWINLOG, *words], stdout=out, stderr=out, start_new_session=True)
    try:
        wait_until(
            lambda: (doomed.poll(), _steps(journal).count(step)),
            lambda seen: seen[1] > before or seen[0] is not None,
            within_s=180,
            what=f"{step} began",
            every_s=LOOK_EVERY_S,
        )
        time.sleep(delay_s)
    finally:
        if doomed.poll() is None:
            os.killpg(doomed.pid, signal.SIGKILL)
    return doomed.wait(20)


def _command(*words: str) -> dict[str, Any]:
    done = subprocess.run([*TWINLOG, *words, "-o", "json"], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.proves("R27")
@pytest.mark.parametrize("delay_s", DELAYS_S)
def test_a_killed_switch_is_resumed_and_no_schema_is_lost_or_doubled(
    make_ends: Callable[..., Ends], tmp_path: Path, stack: ExitStack, delay_s: float
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
        codes = [_kill_in("registry", ["failover", link, "--planned", "--yes", *where], journal, delay_s, log)]
        if _ends(journal) < 1:
            assert _command("switch", "resume", link, *where)["outcome"] == "done"
    await_role(away, "leader")
    assert away.facts()["term"] == 1
    known |= {f"a{n}": away.register(f"a{n}", avro(f"A{n}", "a")).body["id"] for n in range(SCHEMAS)}
    codes.append(_kill_in("registry-home", ["failback", link, "--delta", "--yes", *where], journal, delay_s, log))
    if _ends(journal) < 2:
        assert _command("switch", "resume", link, *where)["outcome"] == "done"
    wait_until(lambda: home.facts()["term"], lambda term: term == 2, within_s=60, what="the home leads again")
    found = {name: home.ask("GET", f"/subjects/{name}/versions/1").body.get("id") for name in known}
    assert found == known
    assert len(set(known.values())) == len(known)
    assert {tuple(home.ask("GET", f"/subjects/{name}/versions").body) for name in known} == {(1,)}
    assert codes == [-signal.SIGKILL, -signal.SIGKILL]
