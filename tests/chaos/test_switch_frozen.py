"""A process that runs a switch is frozen, replaced, and wakes up: it changes nothing any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, produce, service_running, switching

from twinlog.errors import ClusterError, SwitchTakenOver
from twinlog.recovery.fencing import Fence

pytestmark = pytest.mark.chaos
SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0", "switch_fence": "topic-config"}


def size_limit(ends: Ends, topic: str) -> str | None:
    configs = ends.source.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    return next(config.value for config in configs if config.name == "max.message.bytes")


class FrozenSwitch:
    """A planned failover in a thread of its own, whose process stands still within a method of the fence."""

    def __init__(self, ends: Ends, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.ended: BaseException | None = None
        self._ends, self._folder = ends, folder
        self._frozen, self._thaw = threading.Event(), threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        real: Any = getattr(Fence, method)

        async def in_the_loop(fence: Fence, *args: Any) -> None:
            self._freeze()
            await real(fence, *args)

        def in_a_thread(fence: Fence, *args: Any) -> None:
            self._freeze()
            real(fence, *args)

        monkeypatch.setattr(Fence, method, in_the_loop if asyncio.iscoroutinefunction(real) else in_a_thread)
        self._thread = threading.Thread(target=self._main)
        self._thread.start()
        assert self._frozen.wait(60)

    def _freeze(self) -> None:
        """Stand still once, as under SIGSTOP: the loop, which writes the signs of life, stands too."""
        if self._frozen.is_set():
            return
        self._frozen.set()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._thaw.wait, 120)
        self._thaw.wait(120)

    def _main(self) -> None:
        async def failover() -> None:
            self._loop = asyncio.get_running_loop()
            one = switching(self._ends, self._folder)
            _, plan = await one.plan("failover-planned")
            await one.execute(plan)

        try:
            asyncio.run(failover())
        except BaseException as error:  # noqa: BLE001  the test looks at it
            self.ended = error

    def thaw(self) -> None:
        """Let it go on, and wait for its end."""
        self._thaw.set()
        self._thread.join(60)


@pytest.mark.proves("R10")
@pytest.mark.parametrize("method", ["_await_no_transaction", "_set"])
def test_a_frozen_switch_that_was_given_up_shuts_nothing_when_it_wakes_up(
    make_ends: Callable[..., Ends], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """`_await_no_transaction` lies between two changes; `_set` is a change itself, begun before the freeze."""
    ends = make_ends(**SETTINGS)
    topic = ends.create("orders", 1, **{"max.message.bytes": "500000"})
    produce(ends.source_cluster.bootstrap_servers, topic, range(10))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        frozen = FrozenSwitch(ends, tmp_path, monkeypatch, method)
        asyncio.run(switching(ends, tmp_path).abort())
        assert size_limit(ends, topic) == "500000"
        frozen.thaw()
        assert isinstance(frozen.ended, SwitchTakenOver), frozen.ended
        assert size_limit(ends, topic) == "500000"
        assert produce(ends.source_cluster.bootstrap_servers, topic, range(10, 20)) == []
        ends.await_copied(topic)
