"""The syslog source: messages that other machines send, over UDP or TCP. Runs in a Python worker.

What was received and is not in Kafka yet is lost in a crash: syslog senders do not repeat. So it is at most once for
messages under way, and exactly once behind that.
"""

from __future__ import annotations

import re
import selectors
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa

from twinlog.pipelines.api import Chunk, Finding, Offset, Setting, SourcePartition, setting

_WAIT_S: Final = 0.2
_MOST: Final = 2000
_LONGEST: Final = 65_536
_NEW: Final = re.compile(
    r"<(?P<priority>\d{1,3})>(?P<version>\d)\s+(?P<time>\S+)\s+(?P<host>\S+)\s+(?P<app>\S+)\s+(?P<process>\S+)\s+"
    r"(?P<id>\S+)\s+(?P<data>-|(?:\[.*?\])+)\s*(?P<message>.*)",
    re.DOTALL,
)
_OLD: Final = re.compile(
    r"<(?P<priority>\d{1,3})>(?P<time>[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d) (?P<host>\S+) (?:(?P<app>[^\s:\[]+)"
    r"(?:\[(?P<process>[^\]]*)\])?: ?)?(?P<message>.*)",
    re.DOTALL,
)
FIELDS: Final[tuple[tuple[str, Any], ...]] = (
    ("type", pa.string()), ("message", pa.string()), ("host", pa.string()), ("version", pa.int32()),
    ("severity", pa.int32()), ("facility", pa.int32()), ("appName", pa.string()), ("processId", pa.string()),
    ("messageId", pa.string()), ("structuredData", pa.string()), ("timestamp", pa.string()),
    ("remoteAddress", pa.string()), ("rawMessage", pa.string()),
)  # fmt: skip


@setting
class SyslogSettings:
    """Keys of io.confluent.connect.syslog.SyslogSourceConnector."""

    topic: str = Setting("topic", "where messages go", "syslog")
    listener: str = Setting("syslog.listener", "protocol", "UDP", choices=("UDP", "TCP"))
    host: str = Setting("syslog.host", "address to listen on", "127.0.0.1")
    port: int = Setting("syslog.port", "port to listen on", at_least=0)


class SyslogSource:
    """Messages over UDP or TCP."""

    also: ClassVar = ("io.confluent.connect.syslog.SyslogSourceConnector",)
    settings: ClassVar = SyslogSettings
    waits = True

    def __init__(self, s: SyslogSettings) -> None:
        self.s = s
        self._selector: selectors.BaseSelector | None = None
        self._server: socket.socket | None = None
        self._rest: dict[socket.socket, bytes] = {}

    def partitions(self) -> Sequence[SourcePartition]:
        return [SourcePartition({"port": self.s.port})]

    def check(self) -> Iterable[Finding]:
        try:
            self._listen()
        except OSError as error:
            yield Finding("syslog.port", f"{self.s.host}:{self.s.port}: {error}")
        finally:
            self.close()

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        self._listen()
        count = int((start or {}).get("messages") or 0)
        while not stop():
            messages = self._received()
            if not messages:
                return
            count += len(messages)
            rows = pa.RecordBatch.from_pylist(
                [parsed(*message) for message in messages], schema=pa.schema(list(FIELDS))
            )
            yield Chunk(self.s.topic, rows, at, {"messages": count})

    def _listen(self) -> None:
        if self._server is not None:
            return
        kind = socket.SOCK_DGRAM if self.s.listener == "udp" else socket.SOCK_STREAM
        server = socket.socket(socket.AF_INET, kind)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((self.s.host, self.s.port))
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.setblocking(False)
        self._server, self._selector = server, selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)

    @property
    def port(self) -> int:
        """Where it listens; of use when the key says 0."""
        self._listen()
        return 0 if self._server is None else int(self._server.getsockname()[1])

    def _received(self) -> list[tuple[bytes, str]]:
        messages: list[tuple[bytes, str]] = []
        selector, server = self._selector, self._server
        if selector is None or server is None:
            return []
        wait = _WAIT_S
        while len(messages) < _MOST:
            events = selector.select(wait)
            if not events:
                return messages
            wait = 0
            for key, _ in events:
                ready: Any = key.fileobj
                if ready is server and self.s.listener == "udp":
                    data, sender = ready.recvfrom(_LONGEST)
                    messages.append((data, sender[0]))
                elif ready is server:
                    connection, _ = ready.accept()
                    connection.setblocking(False)
                    self._rest[connection] = b""
                    selector.register(connection, selectors.EVENT_READ)
                else:
                    messages += self._lines(ready)
        return messages

    def _lines(self, connection: socket.socket) -> list[tuple[bytes, str]]:
        try:
            data, sender = connection.recv(_LONGEST), connection.getpeername()[0]
        except OSError:
            data, sender = b"", ""
        rest = self._rest[connection] + data
        if not data:
            if self._selector is not None:
                self._selector.unregister(connection)
            connection.close()
            del self._rest[connection]
            return [(rest, sender)] if rest else []
        *lines, self._rest[connection] = rest.split(b"\n")
        return [(line, sender) for line in lines if line]

    def close(self) -> None:
        for open_socket in (*self._rest, *((self._server,) if self._server is not None else ())):
            open_socket.close()
        if self._selector is not None:
            self._selector.close()
        self._selector = self._server = None
        self._rest = {}


def parsed(data: bytes, sender: str) -> dict[str, Any]:
    """The fields of one message; a message of no known form is its text."""
    text = data.decode(errors="replace").rstrip("\r\n\x00")
    made: dict[str, Any] = {"rawMessage": text, "remoteAddress": sender}
    for kind, form in (("RFC5424", _NEW), ("RFC3164", _OLD)):
        matched = form.fullmatch(text)
        if matched is not None:
            parts = {name: None if value in {"-", ""} else value for name, value in matched.groupdict().items()}
            priority = int(matched["priority"])
            return made | {
                "type": kind, "message": matched["message"], "host": parts["host"], "facility": priority >> 3,
                "severity": priority & 7, "appName": parts["app"], "processId": parts["process"],
                "messageId": parts.get("id"), "structuredData": parts.get("data"), "timestamp": parts["time"],
                "version": int(matched["version"]) if kind == "RFC5424" else None,
            }  # fmt: skip
    return made | {"type": "UNKNOWN", "message": text}
