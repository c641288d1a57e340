"""A topic that is written to all the time, and where it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.kit.ends import Ends
from tests.kit.switches import QUICK_SWITCH, produce

from twinlog.errors import ClusterError
from twinlog.model.names import TopicPartition

SETTINGS = {
    **QUICK_SWITCH,
    # Producers of the source go on, so that there is always something to copy.
    "switch_fence": "none",
}


@contextmanager
def steady_load(bootstrap: str, topic: str) -> Iterator[Callable[[], int]]:
    """Records with growing numbers until the block ends; tells how many there are so far."""
    done, sent = threading.Event(), [0]

    def work() -> None:
        while not done.wait(0.05):
            assert produce(bootstrap, topic, range(sent[0], sent[0] + 20)) == []
            sent[0] += 20

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield lambda: sent[0]
    finally:
        done.set()
        thread.join()


def end_of(ends: Ends, topic: str) -> int:
    """Where the copy ends, markers included; 0 before there is one."""
    found = ends.target.fetch_end_offsets([TopicPartition(topic, 0)], committed=False)[TopicPartition(topic, 0)]
    return 0 if isinstance(found, ClusterError) else found
