"""A cluster of three brokers with a second listener, by which only mirrors come.

    load, checker ──▶ CLIENT listener ┐
                                      ├ broker ── INTERNAL ── other brokers
    mirrors, status ─▶ WAN listener ──┘

Cutting the WAN listener cuts the mirrors off and leaves load, brokers and judge alone. The logs of each broker lie on
a small tmpfs of its own, so that a disk can be filled.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.sandbox import inside

from twinlog.local.blueprint import free_ports
from twinlog.local.broker import Broker
from twinlog.local.cluster import LocalCluster
from twinlog.local.jars import KAFKA, KAFKA_VERSION, class_path, resolve
from twinlog.local.security import HOST
from twinlog.machine.java import find_java

if TYPE_CHECKING:
    from tests.faults.secure import Authority

_START_S = 120.0
_DISK_MB = 400
SETTINGS = {
    "min.insync.replicas": "2",
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    # A machine that does much else at a time: a broker is taken for dead after six seconds, not three.
    "broker.session.timeout.ms": "6000",
}


class Site(LocalCluster):
    """One datacenter."""

    authority_of_mirrors: Authority
    """Signs the certificates of mirrors, where a site asks for them."""

    def __init__(
        self, name: str, folder: Path, brokers: int = 3, *, secure: bool = False, kafka: str = KAFKA_VERSION
    ) -> None:
        wishes = dict(SETTINGS)
        if brokers < 3:
            wishes["min.insync.replicas"] = "1"
        super().__init__(name, folder, brokers, secure, settings=wishes, kafka=kafka)
        self.wan_ports: dict[int, int] = {}
        if not secure:
            self.wan_ports = dict(zip((b.node_id for b in self.brokers), free_ports(brokers), strict=True))
        for broker in self.brokers:
            if broker.node_id in self.wan_ports:
                _add_listener(broker, self.wan_ports[broker.node_id])
            if inside():
                _mount_disk(self.disk(broker))

    @property
    def wan_servers(self) -> str:
        """The addresses for mirrors."""
        if not self.wan_ports:
            return self.bootstrap_servers
        return ",".join(f"{HOST}:{port}" for port in self.wan_ports.values())

    @property
    def mirror_ports(self) -> set[int]:
        """The ports that a mirror's processes are connected to; sites that ask who comes have no second listener."""
        ports = {port for node in self._blueprint.nodes for port in (node.client_port, node.tls_port) if port}
        return set(self.wan_ports.values()) or ports

    def disk(self, broker: Broker) -> Path:
        return self._data(broker.node_id)

    def revive(self) -> None:
        """Start every broker that does not run, as a supervisor would."""
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.await_ready(_START_S)

    def internal_port(self, broker: Broker) -> int:
        """Where the other brokers fetch from this one."""
        return next(node.internal_port for node in self._blueprint.nodes if node.node_id == broker.node_id)

    def tool(self, main: str, *arguments: str) -> str:
        """Run one of Kafka's own tools against this site, for what no client for Python can do."""
        command = [str(find_java().java), "-XX:TieredStopAtLevel=1", "-cp", class_path(resolve(KAFKA)), main]
        command += ["--bootstrap-server", self.bootstrap_servers, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert ran.returncode == 0, f"{main}: {ran.stdout[-300:]} {ran.stderr[-300:]}"
        return ran.stdout

    def broker(self, node_id: int) -> Broker:
        return next(broker for broker in self.brokers if broker.node_id == node_id)


def _add_listener(broker: Broker, port: int) -> None:
    properties = broker._properties
    for name in ("listeners", "advertised.listeners"):
        properties[name] += f",WAN://{HOST}:{port}"
    properties["listener.security.protocol.map"] += ",WAN:PLAINTEXT"


def _mount_disk(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(folder)], check=True)
