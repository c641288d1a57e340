"""The same over a running service, with Spark and real clusters behind it: no answer is a 500, and the link carries
records as before when all is asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from tests.kit.connect_worker import ask, free_port, own_token
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog_run
from tests.kit.fuzzed_service import SERVICE
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

LEFT_TO_PAPER: Final = ("/switches", "/switches/resume", "/switches/abort", "/drills")
"""A switch that was asked for by chance would have moved the link: those are begun on paper only."""
schema = schemathesis.openapi.from_dict(SERVICE.app.openapi())


class Live:
    """A service with one link."""

    def __init__(self, ends: Ends, address: str, engine: EngineProcess) -> None:
        self.ends, self.address, self.engine = ends, address, engine
        self.link = f"{ends.alias}->T"
        self.load = ends.load(ends.create("orders", 2), 2)
        self.there = {
            "name": f"{self.link}.MirrorSourceConnector",
            "link": self.link,
            "task": "0",
            "plugin": "MirrorSource",
            "logger": "twinlog.rest",
        }


@pytest.fixture(scope="module")
def live(
    source_cluster: LocalCluster, target_cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    ends = Ends(source_cluster, target_cluster)
    folder = tmp_path_factory.mktemp("live")
    file = folder / "live.properties"
    file.write_text(f"{ends.properties}group.id = {ends.alias}\n", encoding="latin-1")
    listen = f"127.0.0.1:{free_port()}"
    with twinlog_run(ends, folder, "--listen", listen, settings=file) as engine:
        found = Live(ends, f"http://{listen}", engine)
        found.load.produce(500)
        ends.await_copied(within_s=120)
        yield found


@schema.parametrize()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_nothing_makes_a_running_service_stumble(case: schemathesis.Case[Any], live: Live) -> None:
    if case.method == "POST" and case.path.endswith(LEFT_TO_PAPER):
        return
    if zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode(errors="replace")) % 4:
        for name in case.path_parameters or {}:
            case.path_parameters[name] = live.there.get(name, "x")
    answer = case.call(
        base_url=live.address, timeout=100, stream=case.path == "/v1/stream", headers=own_token(live.address)
    )
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    assert live.engine.exit_code is None, live.engine.output


@pytest.mark.proves("R1", "R2", "R3")
def test_the_link_is_none_the_worse(live: Live) -> None:
    """The last of this file: whatever was asked may have paused or stopped the link."""
    connector = f"/connectors/{live.link.replace('>', '%3E')}.MirrorSourceConnector"
    assert ask(live.address, "PUT", f"{connector}/resume").status == 202
    wait_until(
        lambda: ask(live.address, "GET", f"{connector}/status").body["connector"]["state"],
        lambda state: state == "RUNNING",
        within_s=120,
        what="the link",
    )
    live.load.produce(500)
    live.ends.await_copied(within_s=120)
    live.ends.check()
    assert "Traceback" not in live.engine.output, live.engine.output
