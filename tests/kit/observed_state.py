"""The state of an HTTP application whose monitor has observed each link once."""

from __future__ import annotations

import asyncio

from tests.kit.paper_backend import PaperBackend

from twinlog.surface.http.app_state import AppState


def app_state_of(backend: PaperBackend) -> AppState:
    app_state = AppState.of(backend)

    async def look() -> None:
        app_state.monitor._meet(backend.links())
        for name in list(app_state.monitor._tasks):  # before they begin: this test looks exactly once
            for task in app_state.monitor._tasks.pop(name):
                task.cancel()
        for snapshot in app_state.monitor.snapshots.values():
            snapshot.take(await snapshot.looks.look())
            await app_state.monitor.look_at_groups(snapshot)
            await app_state.monitor.look_at_switches(snapshot)

    asyncio.run(look())
    return app_state
