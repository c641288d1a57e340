"""One Kafka cluster as a process sees it: brokers, leaders, connections.

Runs on executors and in the driver-side planning process, inside one asyncio loop. `Cluster` knows where the leaders
are and keeps one connection per (broker, purpose): a long-polling fetch must not hold back a produce request.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError

from twinlog.config.security.kerberos_identity import identity_name
from twinlog.config.settings import ClientSettings, Security
from twinlog.errors import AccessDenied, BrokerAway, BrokerTooOld, ClusterUnreachable, TokenUnavailable
from twinlog.wire.broken import BROKEN, why
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.first_answer import NobodyAnswers, first_to_answer
from twinlog.wire.frames import FrameReader, compact_string, unsigned_varint
from twinlog.wire.line import Backlog, Breaks
from twinlog.wire.tickets import kerberos_options, ticket_trouble
from twinlog.wire.tokens import TokenProvider, TokenTrouble

_METADATA = 3
_METADATA_VERSIONS = (11, 12)
"""Both look alike. 11 is Kafka 2.8, the first that tells topic ids: older brokers are refused by name."""
_OLDEST_KAFKA = "2.8"
_METADATA_SECONDS = 5.0
_THROTTLED_MS = 1_000
_THROTTLED_FOR_S = 3.0
"""The next answer, which tells whether it continues, needs a moment."""
_CONNECT_SECONDS = 10.0
_BOOTSTRAP_SECONDS = 5.0
"""For an address of the file: a cluster behind a dead line is told of soon."""


def ssl_context(security: Security) -> ssl.SSLContext:
    """TLS as the settings say: our own CA or the system's, host names checked unless switched off."""
    context = ssl.create_default_context(cadata=security.ca_pem)
    if not security.verify_hostname:
        context.check_hostname = False
    if security.client_chain_pem and security.client_key_pem:
        password = security.client_key_password.reveal() if security.client_key_password else None
        # The ssl module loads a key from files only; the folder is ours alone and gone at once.
        with tempfile.TemporaryDirectory(prefix="twinlog-") as folder:
            chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
            chain.write_text(security.client_chain_pem)
            key.touch(mode=0o600)
            key.write_text(security.client_key_pem.reveal())
            context.load_cert_chain(chain, key, password)
    return context


@dataclass(frozen=True)
class Leader:
    """Who leads a partition, since which leader epoch, and how many of its replicas are in sync."""

    node: int
    epoch: int
    in_sync: int = 1
    replicas: int = 1


@dataclass(frozen=True)
class TopicMetadata:
    """One topic as the cluster describes it now."""

    name: str
    topic_id: str
    error: int
    leaders: dict[int, Leader]


@dataclass
class Cluster:
    """One Kafka cluster as this process sees it: brokers, leaders, connections."""

    settings: ClientSettings
    client_id: str
    nodes: dict[int, tuple[str, int]] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    cluster_id: str | None = None  # known from the first answer on
    breaks: Breaks = field(default_factory=Breaks)
    _connections: dict[tuple[int, str], BrokerConnection] = field(default_factory=dict)
    _locks: dict[tuple[int, str], asyncio.Lock] = field(default_factory=dict)
    _ssl: ssl.SSLContext | None = None
    _tokens: TokenProvider | None = None

    @property
    def alias(self) -> str:
        """The cluster's name in the file."""
        return self.settings.cluster

    @property
    def timeout_s(self) -> float:
        """How long an ordinary request may take."""
        return self.settings.request_timeout_ms / 1000

    async def connection(self, node: int, purpose: str = "main") -> BrokerConnection:
        """The open connection to a broker for one kind of traffic, made when needed."""
        key = (node, purpose)
        open_one = self._connections.get(key)
        if open_one is not None and open_one.connected():
            return open_one
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._connections.get(key)
            if known is not None and known.connected():
                return known
            if node not in self.nodes:
                raise BrokerAway(self.alias, f"broker {node} is not known", "it is not known")
            fresh = await self._connect(*self.nodes[node], within_s=_CONNECT_SECONDS)
            self._connections[key] = fresh
            return fresh

    async def _connect(self, host: str, port: int, *, within_s: float) -> BrokerConnection:
        security = self.settings.security
        if self._ssl is None and security.protocol in {"SSL", "SASL_SSL"}:
            self._ssl = ssl_context(security)
        if self._tokens is None and security.tokens is not None:
            self._tokens = TokenProvider(security.tokens, security.ca_pem)
        connection = BrokerConnection(
            host,
            port,
            client_id=self.client_id,
            request_timeout_ms=self.settings.request_timeout_ms,
            ssl_context=self._ssl,
            security_protocol=security.protocol,
            sasl_mechanism=security.sasl_mechanism,
            sasl_plain_username=security.username,
            sasl_plain_password=security.password.reveal() if security.password else None,
            sasl_oauth_token_provider=self._tokens,
            **(kerberos_options(self.alias, security.kerberos) if security.kerberos else {}),
        )
        connection.kerberos = security.kerberos or connection.kerberos
        connection.cluster, connection.breaks = self.alias, self.breaks
        try:
            async with asyncio.timeout(min(within_s, self.timeout_s)):
                await connection.connect()
        except asyncio.CancelledError:
            connection.close()  # another broker answered first
            raise
        except TokenTrouble as error:
            connection.close()
            raise TokenUnavailable(self.alias, str(error)) from error
        except ticket_trouble() as error:
            connection.close()
            raise connection.away(f"no Kerberos login as {identity_name(connection.kerberos)}: {error}") from error
        except KafkaError as error:
            # Refused, perhaps because of a token that was withdrawn: the next attempt gets another one.
            if self._tokens is not None:
                self._tokens.forget()
            if isinstance(error, BROKEN):
                raise connection.away(why(error)) from error
            raise AccessDenied(self.alias, str(error)) from error
        except BROKEN as error:
            raise connection.away(why(error)) from error
        if connection.highest_version(_METADATA) < _METADATA_VERSIONS[0]:
            connection.close()
            raise BrokerTooOld(self.alias, f"{host}:{port}", _OLDEST_KAFKA)
        return connection

    def throttles(self, now: float) -> dict[int, int]:
        """Brokers whose quota holds us back for a second or more, and for how many milliseconds in all."""
        held: dict[int, int] = {}
        for (node, _), connection in self._connections.items():
            if connection.throttle_ms >= _THROTTLED_MS and now < connection.throttled_until + _THROTTLED_FOR_S:
                held[node] = max(held.get(node, 0), connection.throttle_ms)
        return held

    def backlogs(self, now: float) -> dict[int, Backlog]:
        """Brokers whose line carries less than it is given. To be asked every second or so."""
        loads: dict[int, Backlog] = {}
        for (node, _), connection in self._connections.items():
            load = connection.look_at_line(now)
            if load is not None and (backlog := load.backlog()) is not None:
                loads[node] = max(backlog, loads.get(node, backlog))
        return loads

    async def any_connection(self) -> BrokerConnection:
        """A connection to whichever broker answers: known ones first, then the bootstrap list."""
        for node in self.nodes:
            known = self._connections.get((node, "main"))
            if known is not None and known.connected():
                return known
        attempts: dict[str, Callable[[], Awaitable[BrokerConnection]]] = {
            f"broker {node}": partial(self.connection, node) for node in self.nodes
        }
        for server in self.settings.bootstrap_servers:
            host, _, port = server.rpartition(":")
            attempts[server] = partial(self._bootstrap, host.strip("[]"), int(port))
        try:
            return await first_to_answer(attempts)
        except NobodyAnswers as nobody:
            raise ClusterUnreachable(self.alias, str(nobody)) from None

    async def _bootstrap(self, host: str, port: int) -> BrokerConnection:
        key = (-1, f"{host}:{port}")
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = self._connections.get(key)
            if known is None or not known.connected():
                known = self._connections[key] = await self._connect(host, port, within_s=_BOOTSTRAP_SECONDS)
            return known

    async def refresh(self, names: Iterable[str] | None, node: int | None = None) -> dict[str, TopicMetadata]:
        """Ask any broker, or one, for brokers and for the leaders and ids of these topics (None: only brokers)."""
        wanted = sorted(set(names or ()))
        connection = await (self.any_connection() if node is None else self.connection(node))
        body = [unsigned_varint(len(wanted) + 1)]
        body += [bytes(16) + compact_string(name) + b"\x00" for name in wanted]
        body.append(b"\x00\x00\x00")  # no auto-creation, no authorised operations, no tags
        # A frozen broker must not hold everybody up: another one knows as well.
        within_s = min(self.timeout_s, _METADATA_SECONDS)
        version = min(_METADATA_VERSIONS[1], connection.highest_version(_METADATA))
        reader = await connection.exchange(_METADATA, version, body, flexible=True, timeout_s=within_s)
        metadata = self._read_metadata(reader)
        for name in wanted:
            self.topics[name] = metadata[name]
        return metadata

    def _read_metadata(self, reader: FrameReader) -> dict[str, TopicMetadata]:
        reader.i32()  # throttle
        nodes: dict[int, tuple[str, int]] = {}
        for _ in range(reader.uvarint() - 1):
            node, host, port = reader.i32(), reader.compact_string(), reader.i32()
            reader.compact_string()  # rack
            reader.tags()
            nodes[node] = (host or "", port)
        self.cluster_id = reader.compact_string() or self.cluster_id
        reader.i32()  # controller
        topics: dict[str, TopicMetadata] = {}
        for _ in range(reader.uvarint() - 1):
            error, name, topic_id = reader.i16(), reader.compact_string() or "", reader.uuid()
            reader.i8()  # internal
            leaders: dict[int, Leader] = {}
            for _ in range(reader.uvarint() - 1):
                reader.i16()
                index, leader, epoch = reader.i32(), reader.i32(), reader.i32()
                replicas = [reader.take(4 * (reader.uvarint() - 1)) for _ in range(3)]  # all, in sync, offline
                reader.tags()
                leaders[index] = Leader(leader, epoch, len(replicas[1]) // 4, len(replicas[0]) // 4)
            reader.i32()  # authorised operations
            reader.tags()
            topics[name] = TopicMetadata(name, topic_id, error, leaders)
        if nodes:
            self._forget_moved(nodes)
        return topics

    def _forget_moved(self, nodes: dict[int, tuple[str, int]]) -> None:
        for (node, purpose), connection in list(self._connections.items()):
            if node in self.nodes and nodes.get(node) != self.nodes[node]:
                connection.close()
                del self._connections[node, purpose]
        self.nodes = nodes

    @property
    def round_trip_s(self) -> float:
        """The quickest answer of any broker so far; infinite before the first."""
        return min((connection.round_trip_s for connection in self._connections.values()), default=float("inf"))

    def leader(self, topic: str, partition: int) -> Leader | None:
        """The leader as last heard; None when unknown or absent just now."""
        metadata = self.topics.get(topic)
        leader = metadata.leaders.get(partition) if metadata else None
        return leader if leader and leader.node >= 0 else None

    def drop(self, purpose: str) -> None:
        """Close the connections of a purpose that is not needed again."""
        for key in [key for key in self._connections if key[1] == purpose]:
            self._connections.pop(key).close()

    async def close(self) -> None:
        waits: list[Any] = [c.close() for c in self._connections.values()]
        self._connections.clear()
        await asyncio.gather(*(w for w in waits if w is not None), return_exceptions=True)
