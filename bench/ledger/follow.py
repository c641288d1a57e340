"""A process that reads a ledger as the service does, and prints what that cost. Arguments: servers, source."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import psutil

from twinlog.config.settings import ClientSettings
from twinlog.ledger.reading import look_at_ledger


async def follow(servers: str, source: str) -> dict[str, float]:
    settings = ClientSettings(cluster="B", bootstrap_servers=(servers,))
    # Once with nothing to read: what a first request loads is no part of the history.
    await look_at_ledger(settings, "nobody")
    process = psutil.Process()
    before, began = process.memory_info().rss, time.monotonic()
    view = await look_at_ledger(settings, source)
    took = time.monotonic() - began
    if view is None:
        raise LookupError(f"there is no ledger of {source}")
    parts = sum(len(index) for index in view.sealed.values())
    return {"seconds": took, "rss_growth": process.memory_info().rss - before, "parts": parts}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(follow(*sys.argv[1:3]))))
