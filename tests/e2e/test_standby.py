"""Two services of one group: the active one is killed under load, the other goes on, nothing is lost or doubled."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.connect_worker import ask, free_port
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


def health(base: str) -> Any:
    try:
        with urllib.request.urlopen(f"{base}/health", timeout=5) as answer:  # noqa: S310
            return json.loads(answer.read())["message"]
    except OSError as error:
        return str(error)


def heartbeats_only(ends: Ends) -> dict[str, Any]:
    """A connector that needs no link of its own."""
    config = {
        "connector.class": "MirrorHeartbeat",
        "source.cluster.alias": f"{ends.alias}h",
        "target.cluster.alias": "T",
    }
    for side, cluster in (("source", ends.source_cluster), ("target", ends.target_cluster)):
        config |= {f"{side}.cluster.{key}": value for key, value in cluster.client_properties("admin").items()}
    return {"name": "beats", "config": {**config, "heartbeats.topic.replication.factor": "1"}}


@pytest.mark.proves("R1", "R2", "R3", "R9", "R10")
def test_the_active_service_is_killed_under_load(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    load = ends.load(ends.create("orders", 2), 2)
    load.produce(500)
    file = tmp_path / "both.properties"
    file.write_text(f"{ends.properties}group.id = {ends.alias}\nhttp.group.secret = of the group\n", encoding="latin-1")
    active, standby = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with (
        twinlog_run(ends, tmp_path, "--listen", active, settings=file) as first,
        twinlog_run(ends, tmp_path, "--listen", standby, settings=file, await_running=False) as second,
    ):
        wait_until(
            lambda: health(f"http://{standby}") if second.exit_code is None else second.output,
            lambda said: "is the standby of" in said,
            within_s=90,
            what="the standby",
        )
        ends.await_copied(within_s=120)
        name = f"{ends.alias}-%3ET.MirrorSourceConnector"
        base = f"http://{standby}/connectors/{name}"
        assert ask(base, "GET", "/status").body["connector"]["state"] == "RUNNING", "told by the active one"
        assert ask(base, "PUT", "/pause").status == 202, "done by the active one"
        assert ask(f"http://{active}/connectors/{name}", "GET", "/status").body["connector"]["state"] == "PAUSED"
        assert ask(base, "PUT", "/resume").status == 202
        made = ask(f"http://{standby}", "POST", "/connectors", heartbeats_only(ends))
        assert made.status == 201, made.body
        with load.in_background(500):
            wait_until(
                lambda: ask(base, "GET", "/status").body["connector"]["state"],
                lambda state: state == "RUNNING",
                within_s=60,
                what="the resumed link",
            )
            assert "runs the links" in health(f"http://{active}"), "a standby that began has moved no link"
            first.kill_all()
            died = time.monotonic()
            wait_until(
                lambda: health(f"http://{standby}"), lambda said: "runs the links" in said, within_s=60, what="the heir"
            )
            second.await_phase("running", within_s=60)
            took = time.monotonic() - died
            before_kill = load.count
            wait_until(lambda: load.count, lambda now: now > before_kill, within_s=30, what="load that goes on")
        ends.await_copied(within_s=120)
        heir = f"http://{standby}"
        assert "beats" in ask(heir, "GET", "/connectors").body, "what was made over HTTP is there, too"
        assert ask(heir, "DELETE", "/connectors/beats").status == 204, "and obeys the heir"
        told = ask(heir, "GET", f"/v1/events?link={ends.alias}-%3ET").body
        assert any("took over" in event["says"] for event in told)
        assert second.stop() == 0
    ends.check()
    print(f"the heir copied {took:.1f} s after the kill")
    assert took < 30
