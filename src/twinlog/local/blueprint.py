"""What a local cluster is, before and between its runs: ids, ports, settings. Kept in its folder as `cluster.json`.

    one node                          three nodes or more
    ┌────────────────────────┐        ┌────────┐ ┌────────┐ ┌────────┐ ┌────────┐
    │ broker  +  controller  │        │ b + c  │ │ b + c  │ │ b + c  │ │ b ...  │
    └────────────────────────┘        └────────┘ └────────┘ └────────┘ └────────┘

Three controllers keep a quorum when any one node is killed. Every broker has a listener for clients and one for the
other brokers, so that a test can put a proxy before the clients' one (`advertised_ports`) and leave the brokers alone.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import random
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from twinlog.errors import PortsTaken
from twinlog.local.jars import KAFKA_VERSION
from twinlog.local.security import HOST, SecureFiles, broker_security

# Below the range from which the kernel takes ports of outgoing connections: nobody's connection can be in the way of
# a broker that comes back to its old port.
_PORTS = range(20000, 32000)


@dataclass(frozen=True, slots=True)
class Node:
    """One process of the cluster. Nodes without a controller port are brokers only."""

    node_id: int
    client_port: int
    internal_port: int
    controller_port: int | None
    # Where clients show a certificate; secure clusters only.
    tls_port: int | None = None


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One cluster. Ids, ports and security are drawn at the first start and never change afterwards."""

    name: str
    cluster_id: str
    secure: bool
    nodes: tuple[Node, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    java_options: tuple[str, ...] = ()
    advertised_ports: Mapping[int, int] = field(default_factory=dict)
    # The Kafka version that formats the log folders and runs the brokers, and the levels of features that are not the
    # version's own defaults.
    kafka: str = KAFKA_VERSION
    features: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the text of `cluster.json`."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Blueprint:
        """Read `cluster.json` back."""
        fields = json.loads(text)
        fields["nodes"] = tuple(Node(**node) for node in fields["nodes"])
        fields["java_options"] = tuple(fields["java_options"])
        fields["advertised_ports"] = {int(node): port for node, port in fields["advertised_ports"].items()}
        return cls(**fields)

    @property
    def bootstrap_servers(self) -> str:
        """Return the addresses for clients; those of the proxies where there are any."""
        return ",".join(f"{HOST}:{self.advertised_port(node)}" for node in self.nodes)

    @property
    def internal_servers(self) -> str:
        """Return the addresses that brokers use among themselves: no proxy stands before them."""
        return ",".join(f"{HOST}:{node.internal_port}" for node in self.nodes)

    @property
    def tls_servers(self) -> str:
        """Return the addresses for clients that show a certificate."""
        return ",".join(f"{HOST}:{node.tls_port}" for node in self.nodes)

    def advertised_port(self, node: Node) -> int:
        """Return the port that clients are told to use for this node."""
        return self.advertised_ports.get(node.node_id, node.client_port)


def draw_blueprint(
    name: str, brokers: int, *, secure: bool, kafka: str = KAFKA_VERSION, features: Mapping[str, int] | None = None
) -> Blueprint:
    """Draw ids and free ports for a new cluster."""
    controllers = 3 if brokers >= 3 else 1
    ports = iter(free_ports((3 if secure else 2) * brokers + controllers))
    nodes = tuple(
        Node(
            node_id=number,
            client_port=next(ports),
            internal_port=next(ports),
            controller_port=next(ports) if number <= controllers else None,
            tls_port=next(ports) if secure else None,
        )
        for number in range(1, brokers + 1)
    )
    return Blueprint(
        name=name, cluster_id=draw_id(), secure=secure, nodes=nodes, kafka=kafka, features=dict(features or {})
    )


def draw_id() -> str:
    """Return a random id in Kafka's spelling: 22 characters of URL-safe base64."""
    while True:
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # A leading dash looks like an option to Kafka's command-line tools.
        if not drawn.startswith("-"):
            return drawn


def free_ports(count: int) -> list[int]:
    """Return ports on which nobody listens now. All are held until the last is found, so no two are the same.

    Raises PortsTaken.
    """
    held: list[socket.socket] = []
    try:
        for port in random.sample(_PORTS, len(_PORTS)):
            if len(held) == count:
                break
            candidate = socket.socket()
            try:
                candidate.bind((HOST, port))
            except OSError:
                candidate.close()
            else:
                held.append(candidate)
        if len(held) < count:
            raise PortsTaken(count, len(held), _PORTS[0], _PORTS[-1])
        return [holder.getsockname()[1] for holder in held]
    finally:
        for holder in held:
            holder.close()


def broker_properties(blueprint: Blueprint, node: Node, data: Path, files: SecureFiles) -> dict[str, str]:
    """Return the `server.properties` of one node; the cluster's own settings have the last word."""
    replicas = min(3, len(blueprint.nodes))
    safe_isr = 2 if replicas == 3 else 1
    voters = [voter for voter in blueprint.nodes if voter.controller_port is not None]
    listeners = {"CLIENT": node.client_port, "INTERNAL": node.internal_port}
    advertised = {"CLIENT": blueprint.advertised_port(node), "INTERNAL": node.internal_port}
    if node.controller_port is not None:
        listeners["CONTROLLER"] = node.controller_port
    if node.tls_port is not None:
        listeners["TLS"] = advertised["TLS"] = node.tls_port
    properties = {
        "process.roles": "broker" if node.controller_port is None else "broker,controller",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(f"{v.node_id}@{HOST}:{v.controller_port}" for v in voters),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listeners": _addresses(listeners),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": (
            "CLIENT:SASL_SSL,INTERNAL:SSL,CONTROLLER:SSL,TLS:SSL"
            if blueprint.secure
            else "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "log.dirs": str(data),
        # A test must see that a topic is missing, not a new one made by the question.
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(replicas),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(safe_isr),
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(safe_isr),
        "share.coordinator.state.topic.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker is replaced, and let in again, only after this time; a busy machine must not look dead either.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",
        # Small: many brokers share one laptop. The cleaner's buffer alone would take half of the heap.
        "log.cleaner.dedupe.buffer.size": "2097152",
        "num.network.threads": "1",
        "num.io.threads": "2",
        "num.recovery.threads.per.data.dir": "1",
        "background.threads": "2",
        "group.coordinator.threads": "1",
        "share.coordinator.threads": "1",
    }
    if blueprint.secure:
        properties |= broker_security(files)
    return {**properties, **blueprint.settings}


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{listener}://{HOST}:{port}" for listener, port in ports.items())
