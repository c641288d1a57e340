"""Which brokers of a cluster do not answer, asked over connections of their own. Runs in any asyncio loop.

A frozen broker, or one behind a line that drops packets, keeps its connections open: whoever waits for it only learns
that time has passed. These questions name it while the wait is young.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.wire.connection import Cluster

_WITHIN_S: Final = 2.0


async def silent_brokers(cluster: Cluster, nodes: Iterable[int]) -> list[int]:
    """Those that do not answer within two seconds."""
    asked = sorted(set(nodes))
    answers = await asyncio.gather(*(_answers(cluster, node) for node in asked))
    return [node for node, heard in zip(asked, answers, strict=True) if not heard]


async def _answers(cluster: Cluster, node: int) -> bool:
    try:
        async with asyncio.timeout(_WITHIN_S):
            await cluster.refresh(None, node)
    except (TimeoutError, ClusterUnreachable):
        return False
    except ClusterError:
        return True  # it refuses us: that is an answer
    return True
