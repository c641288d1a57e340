"""The HTTP server in the service's own loop: where it listens, and under which conditions it does."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, cast

import uvicorn
from fastapi import FastAPI

from twinlog.config.service_settings import HttpSettings
from twinlog.errors import UsageError
from twinlog.machine.local_token import is_loopback
from twinlog.surface.http.certificate_watch import CertificateWatch
from twinlog.surface.http.connection_limits import Listener
from twinlog.surface.http.local_login import SocketProtocol, ThroughSocket
from twinlog.surface.http.request_limits import LimitedProtocol

log = logging.getLogger("twinlog.rest")

UNIX: Final = "unix:"
_MOST_AT_ONCE: Final = 1000
_STOP_SECONDS: Final = 3
HANDSHAKE_S: float = 5.0
_TICKS: Final = 20


def bind(listen: str, settings: HttpSettings, option: str = "--listen") -> socket.socket:
    """Take the address that `option` named, or say why not. Raises UsageError; nothing was started."""
    if listen.startswith(UNIX):
        return _bind_unix(Path(listen.removeprefix(UNIX)))
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{option} {listen}: expected HOST:PORT, such as 127.0.0.1:8083, or unix:PATH")
    if not is_loopback(host) and not settings.asks_who:
        raise UsageError(
            f"{option} {listen}: beyond this machine nobody is let in without a login; set http.users.file (see "
            "`twinlog user add`) or http.oidc.issuer in the settings file, or listen on 127.0.0.1"
        )
    if not is_loopback(host) and settings.certificate is None:
        if not settings.tls_insecure:
            raise UsageError(
                f"{option} {listen}: beyond this machine passwords and tokens would travel in clear text; set "
                "http.tls.certificate in the settings file, or http.tls.insecure = true where the network encrypts"
            )
        log.warning("%s: passwords and tokens travel in clear text (http.tls.insecure)", listen)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, int(port)), family=family, backlog=512)
    except OSError as error:
        raise _not_bound(option, listen, port, error) from None
    # asyncio does this only for sockets it made itself. Without it an answer waits 40 ms for the client's next word.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Listener.over(sock, settings.connections_per_address, settings.trusted_proxies)


def _not_bound(option: str, listen: str, port: str, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        way = f"`ss -ltnp 'sport = :{port}'` shows which; stop it, or listen on another port"
        return UsageError(f"{option} {listen}: another process uses this port; {way}")
    if error.errno == errno.EACCES:
        return UsageError(f"{option} {listen}: the system does not let this user use port {port}; take one above 1023")
    if error.errno == errno.EADDRNOTAVAIL:
        return UsageError(f"{option} {listen}: this machine has no such address; `ip address` lists those it has")
    return UsageError(f"{option} {listen}: {error.strerror or error}")


def _bind_unix(path: Path) -> socket.socket:
    """Take a path: whoever may write to the socket there, its owner and its group, is an admin."""
    if not path.is_absolute():
        raise UsageError(f"--listen {UNIX}{path}: expected an absolute path")
    if path.exists() and not path.is_socket():
        raise UsageError(f"--listen {UNIX}{path}: there is a file of that name, and it is no socket")
    if path.is_socket() and _answers(path):
        raise UsageError(f"--listen {UNIX}{path}: it is in use")
    sock = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        before = os.umask(0o117)
        try:
            sock.bind(str(path))
        finally:
            os.umask(before)
        sock.listen(512)
    except OSError as error:
        sock.close()
        raise UsageError(f"--listen {UNIX}{path}: {error.strerror or error}") from None
    return sock


def _answers(path: Path) -> bool:
    """Whether a socket that is there belongs to a process that lives."""
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(path))
        except OSError:
            return False
    return True


def is_unix(sock: socket.socket) -> bool:
    """Tell a Unix socket from a port."""
    return sock.family == socket.AF_UNIX


def address_of(sock: socket.socket, settings: HttpSettings) -> str:
    """Where other services of the group find this one; of a Unix socket, where commands find it."""
    if is_unix(sock):
        return f"{UNIX}{sock.getsockname()}"
    if settings.advertised_url is not None:
        return settings.advertised_url
    host, port = sock.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104  looked for, not bound to
        host = socket.getfqdn()
    scheme = "https" if settings.certificate is not None else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


class _Server(uvicorn.Server):
    """Signals are the service's own business; TLS has a time limit, and certificates that were renewed are taken."""

    def __init__(self, config: uvicorn.Config, settings: HttpSettings) -> None:
        super().__init__(config)
        files = (settings.certificate, settings.key, settings.client_ca)
        self._watch = CertificateWatch(settings) if any(files) else None

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen. As uvicorn does it, but whoever begins TLS and falls silent is not kept for a minute."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise UsageError("the HTTP server cannot be started; the log says why")
        config, loop = self.config, asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            made: Any = config.http_protocol_class
            return cast(
                "asyncio.Protocol",
                made(config=config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop),
            )

        limits: dict[str, Any] = (
            {} if config.ssl is None else {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": HANDSHAKE_S}
        )
        self.servers = [
            await loop.create_server(protocol, sock=sock, ssl=config.ssl, backlog=config.backlog, **limits)
            for sock in sockets or ()
        ]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Look at the certificate now and then; a tick is a tenth of a second."""
        if self._watch is not None and self.config.ssl is not None and counter % _TICKS == 0:
            self._watch.look(self.config.ssl)
        return await super().on_tick(counter)


def server_of(app: FastAPI, settings: HttpSettings, *, unix: bool = False, lifespan: bool = True) -> uvicorn.Server:
    """The server; `serve(sockets=[...])` runs until `should_exit`. Of two for one application one has its lifespan."""
    # The system vouches for who is at the other end of a Unix socket, so there is no TLS.
    secured = HttpSettings() if unix else settings
    config = uvicorn.Config(
        ThroughSocket(app) if unix else app,
        http=SocketProtocol if unix else LimitedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        # Anybody can write such headers: they would choose the address that is limited and audited.
        proxy_headers=bool(secured.trusted_proxies),
        forwarded_allow_ips=list(secured.trusted_proxies),
        lifespan="on" if lifespan else "off",
        limit_concurrency=_MOST_AT_ONCE,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=secured.certificate,
        ssl_keyfile=secured.key,
        ssl_ca_certs=str(secured.client_ca) if secured.client_ca is not None else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if secured.client_ca is not None else ssl.CERT_NONE,
    )
    return _Server(config, secured)
