"""Twinlog itself is upgraded and rolled back under load."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from tests.faults.scenario import scenario

if TYPE_CHECKING:
    from tests.faults.scene import Scene

EARLIER = "87df2eb"
"""A state of this repository whose ledger is read today, and which reads the ledger of today (docs/upgrade.md)."""
_PAUSE_S = 4.0
_HERE = Path(__file__).parent.parent.parent


@scenario("Twinlog is upgraded and rolled back", 41, peer=False, spoils=True, named="^STOPPED", within_s=120)
def twinlog_upgraded(scene: Scene) -> None:
    """An engine of a commit of 2026-11-17 copies; SIGTERM, the engine of today takes over; then the other way round."""
    with _earlier_sources() as earlier:
        scene.restart_twinlog()
        ran = [_sources_of(scene)]
    with scene.fault():
        _replace(scene)
        ran.append(_sources_of(scene))
        with _earlier_sources() as again:
            _replace(scene)
            ran.append(_sources_of(scene))
        seen = f"engines of commit {EARLIER}, of today and of {EARLIER} copied one after the other"
        scene.effect(ran == [earlier, None, again], seen)


def _replace(scene: Scene) -> None:
    """Stop an engine as its operator would, and start the other one."""
    scene.twinlog.held = True
    assert scene.twinlog.engine.stop(60) == 0, scene.twinlog.last_words()[-600:]
    scene.injected()
    scene.hold(_PAUSE_S)
    scene.twinlog.start()
    scene.twinlog.held = False
    scene.await_copying()


def _sources_of(scene: Scene) -> str | None:
    return psutil.Process(scene.twinlog.engine.pid).environ().get("PYTHONPATH")


@contextmanager
def _earlier_sources() -> Iterator[str]:
    """Engines that are started within run the earlier state."""
    folder = tempfile.mkdtemp(prefix="tw")
    archive = subprocess.run(["git", "archive", EARLIER, "src"], cwd=_HERE, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    os.environ["PYTHONPATH"] = path = str(Path(folder, "src"))
    try:
        yield path
    finally:
        del os.environ["PYTHONPATH"]
