"""The registry as a process: composes its parts, listens, and stops in order. The root of `twinlog registry run`."""

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import uvicorn

from twinlog.config.registry_settings import ListenerSettings, ListenerTls, RegistrySettings
from twinlog.config.settings import ClientSettings
from twinlog.control.audit import Audit
from twinlog.errors import UsageError
from twinlog.registry.checking import end_workers
from twinlog.registry.identity import Identity
from twinlog.registry.node import NodeSettings, RegistryNode
from twinlog.registry.parsing import Parser
from twinlog.registry.rules import Rules
from twinlog.registry.topic import TopicWish
from twinlog.surface.http.connection_limits import Listener
from twinlog.surface.registry.access import Access
from twinlog.surface.registry.app import RegistryApp
from twinlog.surface.registry.forwarding import Forwarding
from twinlog.surface.registry.hot_path import hot_protocol
from twinlog.surface.registry.peers import Peers
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.served import Served
from twinlog.surface.registry.status import Status

log = logging.getLogger("twinlog.registry")

_STOP_SECONDS: Final = 3
_MOST_AT_ONCE: Final = 2000
_BACKLOG: Final = 512
_MARGIN_S: Final = 15.0
_REQUIRES: Final = {"NONE": ssl.CERT_NONE, "REQUESTED": ssl.CERT_OPTIONAL, "REQUIRED": ssl.CERT_REQUIRED}


class RegistryServer:
    """One instance. Nothing is started before `run`."""

    def __init__(self, settings: RegistrySettings) -> None:
        self.settings = settings
        me = Identity(settings.host_name, settings.host_port, settings.eligible, settings.protocol)
        wish = TopicWish(
            settings.topic, settings.replication_factor, dict(settings.topic_configs), settings.skip_topic_checks
        )
        self.node = RegistryNode(
            NodeSettings(
                _named(settings.kafka), wish, settings.group_id, me, settings.snapshot_file, settings.timeout_ms / 1000
            ),
            session_ms=settings.session_timeout_ms,
        )
        self._peers = Peers(_peer_tls(settings), min(settings.leader_connect_timeout_ms / 1000, 5.0))
        forwarding = Forwarding(
            self.node,
            self._peers,
            wait_s=settings.session_timeout_ms / 1000 + _MARGIN_S,
            read_timeout_s=settings.leader_read_timeout_ms / 1000,
            more_headers=frozenset(name.encode() for name in settings.forwarded_headers),
        )
        self.status = Status(self.node, forwarding)
        audit = Audit(settings.http.audit_file, required=settings.http.audit_required)
        self.registry = Registry(
            self.node,
            Rules(
                default_level=settings.level,
                mode_mutable=settings.mode_mutable,
                validate_fields=settings.validate_fields,
                validate_new=settings.validate_names,
                incompatible_code=settings.incompatible_code,
                most_listed=settings.most_listed,
                encrypts=settings.encrypts,
            ),
            Parser(settings.cache_size),
            group_id=settings.group_id,
            prefixes=settings.subject_prefixes,
            version={"version": f"twinlog-{_own_version()}", "commitId": ""},
        )
        self._app = RegistryApp(self.registry, Served(Access(settings.http, audit), forwarding, self.status))
        self.status.prepared = self._app.prepared
        self._servers: list[uvicorn.Server] = []

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Listen at once, load, take part in the election; until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await self.serve_until(stop, started)
        end_workers()

    async def serve_until(self, stop: asyncio.Event, started: Callable[[], None] = lambda: None) -> None:
        """The same, until somebody says that it is over."""
        sockets = [(listener, _bind(listener, self.settings)) for listener in self.settings.listeners]
        self._servers = [self._server(listener) for listener, _ in sockets]
        serving = [
            asyncio.create_task(server.serve(sockets=[sock]))
            for server, (_, sock) in zip(self._servers, sockets, strict=True)
        ]
        node = asyncio.create_task(self.node.run())
        learning = asyncio.create_task(self._learn_cluster_id())
        log.info("Server started, listening for requests at %s", ", ".join(listener.url for listener, _ in sockets))
        started()
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait({node, stopping, *serving}, return_when=asyncio.FIRST_COMPLETED)
            if node in done:
                node.result()
        finally:
            for server in self._servers:
                server.should_exit = True
            await self.node.close()
            for task in (node, learning, stopping):
                task.cancel()
            await asyncio.gather(node, learning, stopping, *serving, return_exceptions=True)
            self._peers.close()

    async def _learn_cluster_id(self) -> None:
        """The id of the Kafka cluster comes with its first answer."""
        while self.node.cluster.cluster_id is None:  # noqa: ASYNC110  moments after the start
            await asyncio.sleep(0.1)
        self.registry.cluster_id = self.node.cluster.cluster_id

    def _server(self, listener: ListenerSettings) -> uvicorn.Server:
        tls = self.settings.tls if listener.scheme == "https" else None
        config = uvicorn.Config(
            self._app,
            http=hot_protocol(self._app.prepared),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            lifespan="off",
            limit_concurrency=_MOST_AT_ONCE,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=_STOP_SECONDS,
            backlog=_BACKLOG,
        )
        config.load()
        if tls is not None:
            config.ssl = listener_context(tls)
        return _Server(config)


class _Server(uvicorn.Server):
    """Signals are the registry's own business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _own_version() -> str:
    """Of the package that this file came with: all of Twinlog, or the registry alone."""
    try:
        return version("twinlog")
    except PackageNotFoundError:
        return version("twinlog-registry")


def _named(kafka: ClientSettings) -> ClientSettings:
    return kafka if kafka.client_id else kafka.model_copy(update={"client_id": "schema-registry"})


def _bind(listener: ListenerSettings, settings: RegistrySettings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
        sock = socket.create_server((listener.host, listener.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(f"listeners: {listener.url}: {error.strerror or error}") from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not settings.http.asks_who and listener.host not in {"127.0.0.1", "::1", "localhost"}:
        log.warning("%s: everybody who reaches it may change schemas; see http.users.file", listener.url)
    return Listener.over(sock, settings.http.connections_per_address, settings.http.trusted_proxies)


def listener_context(tls: ListenerTls) -> ssl.SSLContext:
    """How a listener with https shows itself, and whom it asks for a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load_identity(context, tls)
    context.verify_mode = _REQUIRES[tls.client_certificates]
    if tls.trust_pem is not None:
        context.load_verify_locations(cadata=tls.trust_pem)
    return context


def _peer_tls(settings: RegistrySettings) -> ssl.SSLContext | None:
    """How this instance speaks to a leader with https: it believes the same authorities, and shows its certificate."""
    if settings.protocol != "https":
        return None
    context = ssl.create_default_context(cadata=settings.peers_trust_pem)
    if settings.tls is not None:
        _load_identity(context, settings.tls)
    return context


def _load_identity(context: ssl.SSLContext, tls: ListenerTls) -> None:
    # The ssl module loads a key from files only; the folder is ours alone and gone at once.
    with tempfile.TemporaryDirectory(prefix="twinlog-") as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_text(tls.chain_pem)
        key.touch(mode=0o600)
        key.write_text(tls.key_pem.reveal())
        context.load_cert_chain(chain, key, tls.key_password.reveal() if tls.key_password else None)


def serve(settings: RegistrySettings, started: Callable[[], Any] = lambda: None) -> None:
    """Run a registry until it is stopped. Blocking."""
    asyncio.run(RegistryServer(settings).run(started))
