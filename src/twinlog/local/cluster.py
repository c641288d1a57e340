"""A Kafka cluster (KRaft) of local processes, with a folder in which it survives between runs.

    folder/cluster.json      what it is                      folder/broker-N/server.properties   made at each start
    folder/admin.properties  for Kafka's own tools           folder/broker-N/data/               the log
    folder/users.json        passwords, if it is secure      folder/broker-N/broker.log, pid
    folder/*.pem, jwks.json  keys, if it is secure (see security.py)

Runs in the command line (`twinlog local`, `twinlog demo`) and in tests. Only addresses of the loopback interface.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import javaproperties

from twinlog.errors import LocalClusterUnknown, UsageError
from twinlog.local.blueprint import Blueprint, broker_properties, draw_blueprint
from twinlog.local.broker import READY_SECONDS, STOP_SECONDS, Broker
from twinlog.local.certificates import write_certificates
from twinlog.local.jars import KAFKA_VERSION
from twinlog.local.security import ADMIN, USERS, SecureFiles, Way, broker_java_options, client_security
from twinlog.local.storage import format_nodes
from twinlog.local.tokens import write_token_key
from twinlog.machine.folders import write_atomically

_STOP_WITHOUT_QUORUM_SECONDS = 4.0


class LocalCluster:
    """One cluster. Ports are known as soon as the object exists; processes run between `start` and `stop`.

    A folder that holds a cluster gives its ports, ids, passwords and data; `settings`, `java_options`, `kafka` and
    `advertised_ports` are taken anew. `features` count only when the log folders are formatted. Unless `detached`, the
    brokers end with this Python process.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        brokers: int = 1,
        secure: bool = False,
        settings: Mapping[str, str] | None = None,
        *,
        java_options: Sequence[str] = (),
        advertised_ports: Mapping[int, int] | None = None,
        kafka: str = KAFKA_VERSION,
        features: Mapping[str, int] | None = None,
        detached: bool = False,
    ) -> None:
        self.folder = folder.absolute()
        blueprint = _read_blueprint(self.folder) or draw_blueprint(
            name, brokers, secure=secure, kafka=kafka, features=features
        )
        if (blueprint.name, len(blueprint.nodes), blueprint.secure) != (name, brokers, secure):
            raise UsageError(
                problem=f"{self.folder}: holds the cluster {blueprint.name} (brokers: {len(blueprint.nodes)}, "
                f"secure: {'yes' if blueprint.secure else 'no'}); wipe it to make another one there",
            )
        blueprint = dataclasses.replace(
            blueprint,
            settings=dict(settings or {}),
            java_options=tuple(java_options),
            advertised_ports=dict(advertised_ports or {}),
            kafka=kafka,
        )
        self._blueprint = blueprint
        self.name = name
        self.secure = secure
        self.cluster_id = blueprint.cluster_id
        self.files = SecureFiles(self.folder)
        self.brokers = tuple(
            Broker(
                name,
                node,
                self.folder / f"broker-{node.node_id}",
                broker_properties(blueprint, node, self._data(node.node_id), self.files),
                (*blueprint.java_options, *(broker_java_options(self.files) if secure else ())),
                kafka=kafka,
                detached=detached,
            )
            for node in blueprint.nodes
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the cluster that lives in this folder, running or not. What it starts is detached."""
        blueprint = _read_blueprint(folder.absolute())
        if blueprint is None:
            raise LocalClusterUnknown(folder=str(folder))
        return cls(
            blueprint.name,
            folder,
            len(blueprint.nodes),
            blueprint.secure,
            blueprint.settings,
            java_options=blueprint.java_options,
            advertised_ports=blueprint.advertised_ports,
            kafka=blueprint.kafka,
            features=blueprint.features,
            detached=True,
        )

    @property
    def bootstrap_servers(self) -> str:
        """Return the addresses for clients, separated by commas."""
        return self._blueprint.bootstrap_servers

    @property
    def internal_servers(self) -> str:
        """Return the addresses that brokers use among themselves, for clients that must pass no proxy."""
        return self._blueprint.internal_servers

    @property
    def authority(self) -> Path:
        """Return the file with the certificate that clients of a secure cluster trust."""
        return self.files.authority

    @property
    def running(self) -> bool:
        """Tell whether all brokers live."""
        return all(broker.running for broker in self.brokers)

    def client_properties(self, user: str = ADMIN, way: Way = "SCRAM-SHA-512") -> dict[str, str]:
        """Return the Java-style properties with which a client reaches the cluster as this user, by this way.

        A secure cluster knows `admin`, who may do everything, and `twinlog`, who may do what an ACL grants.
        """
        if not self.secure:
            return {"bootstrap.servers": self.bootstrap_servers, "security.protocol": "PLAINTEXT"}
        servers = self._blueprint.tls_servers if way == "TLS" else self.bootstrap_servers
        return {"bootstrap.servers": servers, **client_security(self.files, way, user, self.password(user))}

    def client_file(self, user: str = ADMIN) -> Path:
        """Return the file with the client properties, for `--command-config` of Kafka's tools; the start writes it."""
        return self.folder / f"{user}.properties"

    def password(self, user: str) -> str:
        """Return the password of a user of this secure cluster; it is drawn when the cluster is made."""
        return self._users()[user]

    def start(self, timeout: float = READY_SECONDS, on_ready: Callable[[Broker], None] | None = None) -> Self:
        """Start all brokers that do not run, and wait until all serve; stop what was started if one does not."""
        self.launch()
        return self.await_ready(timeout, on_ready)

    def launch(self) -> Self:
        """Start the processes without waiting, so that several clusters can start side by side."""
        write_atomically(self.folder / "cluster.json", self._blueprint.to_json())
        users: Mapping[str, str] = {}
        if self.secure:
            users = self._users()
            write_certificates(self.files)
            write_token_key(self.files)
            write_atomically(self.files.users, javaproperties.dumps(users, timestamp=False), mode=0o600)
        for user in users or (ADMIN,):
            text = javaproperties.dumps(self.client_properties(user), timestamp=False)
            write_atomically(self.client_file(user), text, mode=0o600)
        format_nodes(self._blueprint, {b.node_id: self._data(b.node_id) for b in self.brokers}, users)
        for broker in self.brokers:
            broker.launch()
        return self

    def await_ready(self, timeout: float = READY_SECONDS, on_ready: Callable[[Broker], None] | None = None) -> Self:
        """Wait until every broker is registered and serves."""
        deadline = time.monotonic() + timeout
        try:
            for broker in self.brokers:
                broker.await_ready(max(0.0, deadline - time.monotonic()))
                if on_ready:
                    on_ready(broker)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End all brokers in order; the data stays."""
        for broker in self.brokers:
            broker.begin_stop()
        # The last nodes have no quorum left to say goodbye to and would try for minutes.
        within_s = STOP_SECONDS if len(self.brokers) == 1 else _STOP_WITHOUT_QUORUM_SECONDS
        deadline = time.monotonic() + within_s
        for broker in self.brokers:
            broker.finish_stop(max(0.0, deadline - time.monotonic()))

    def kill(self) -> None:
        """End all brokers at once, as the loss of the whole site would."""
        for broker in self.brokers:
            broker.kill()

    def wipe(self) -> None:
        """End all brokers and delete the folder with everything in it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _data(self, node_id: int) -> Path:
        return self.folder / f"broker-{node_id}" / "data"

    def _users(self) -> dict[str, str]:
        """Return name and password of every user; drawn at the first call and kept from then on."""
        file = self.folder / "users.json"
        if not file.exists():
            drawn = {user: secrets.token_urlsafe(18) for user in USERS}
            write_atomically(file, json.dumps(drawn, indent=2) + "\n", mode=0o600)
        users: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return users


def _read_blueprint(folder: Path) -> Blueprint | None:
    try:
        return Blueprint.from_json((folder / "cluster.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
