"""Two sites and the mirrors between them, kept from one fault to the next as long as nothing went wrong."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.faults.eye import Eye
from tests.faults.mirrors import Mirror, MirrorMaker, Twinlog, WanEnds, remove, scratch
from tests.faults.packets import Network
from tests.faults.secure import Authority, CertifiedEnds, SecureEnds
from tests.faults.site import Site

from twinlog.local.jars import KAFKA_VERSION

OLD_KAFKA = "3.9.2"
"""From which clusters are upgraded."""
_START_S = 150.0


def _sites(folder: Path, brokers: int, kind: str) -> tuple[Site, Site]:
    secure = kind in {"secure", "certified"}
    kafka = OLD_KAFKA if kind == "old" else KAFKA_VERSION
    source, target = (Site(name, folder / name, brokers, secure=secure, kafka=kafka) for name in ("source", "target"))
    if secure:
        source.authority_of_mirrors = Authority()
        source.authority_of_mirrors.trusted_by(source)
    return source, target


_ENDS: Mapping[str, type[WanEnds]] = {
    "plain": WanEnds,
    "old": WanEnds,
    "secure": SecureEnds,
    "certified": CertifiedEnds,
}
"""Ways in which mirrors enter both clusters, by name."""


class Stage:
    """Clusters that run, and mirrors that are started when the first fault asks for them."""

    def __init__(self, kind: str, brokers: int = 3) -> None:
        self.kind = kind
        self.folder = scratch("fl")
        self.source, self.target = _sites(self.folder, brokers, kind)
        self.network = Network()
        self._links: tuple[WanEnds, Twinlog, MirrorMaker | None, Eye] | None = None
        self._settings: Mapping[str, str] | None = None
        try:
            for site in (self.source, self.target):
                site.launch()
            for site in (self.source, self.target):
                site.await_ready(_START_S)
        except BaseException:
            self.close()
            raise

    def mirrors(self, settings: Mapping[str, str], *, peer: bool) -> tuple[WanEnds, Twinlog, MirrorMaker | None, Eye]:
        """Mirrors that run, or are about to: those of the fault before when its settings were the same."""
        same = self._links is not None and dict(settings) == self._settings
        if self._links is None or not same or (peer and self._links[2] is None):
            self.close_mirrors()
            factor = str(min(3, len(self.target.brokers)))
            wishes = {"replication_factor": factor, "tasks_max": "2", "fault_retry_seconds": "5", **settings}
            ends = _ENDS[self.kind](self.source, self.target, **wishes)
            twinlog = Twinlog(ends, self.folder)
            other = MirrorMaker(ends, self.folder) if peer else None
            twinlog.start()
            if other is not None:
                other.start()
            self._links = (ends, twinlog, other, Eye(twinlog.file, self.folder))
            self._settings = dict(settings)
        ends, twinlog, other, eye = self._links
        return ends, twinlog, other if peer else None, eye

    def heal(self) -> None:
        """Whatever a fault left behind: cut networks, frozen and dead brokers."""
        self.network.open()
        for site in (self.source, self.target):
            for broker in site.brokers:
                broker.thaw()
            site.revive()

    def restart_peer(self) -> None:
        """Start MirrorMaker 2 again, as its operator would when its tasks have failed."""
        if self._links is not None and self._links[2] is not None:
            self._links[2].kill()
            self._links[2].start()

    def close_mirrors(self) -> None:
        if self._links is None:
            return
        _, twinlog, other, eye = self._links
        eye.close()
        mirrors: list[Mirror] = [twinlog] if other is None else [twinlog, other]
        for mirror in mirrors:
            mirror.close()
        self._links = None

    def keep(self, folder: Path) -> None:
        """Copy what mirrors, brokers and status said to a folder, to be read later."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for pattern in ("*.out", "*.err", "*.log", "*.status", "*.properties"):
            for file in self.folder.glob(pattern):
                shutil.copy(file, folder)
        for file in self.folder.glob("*/broker-*/broker.log"):
            shutil.copy(file, folder / f"{file.parent.parent.name}-{file.parent.name}.log")

    def close(self) -> None:
        self.network.open()
        self.close_mirrors()
        for site in (self.source, self.target):
            for broker in site.brokers:
                broker.thaw()
            site.kill()
        remove(self.folder)
