"""What Spark's own ports say to somebody who has no secret: the JVM is asked on every port that it listens on."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.session import stop_session

_LISTENS = "0A"
_RPC_REQUEST = 3
_READERS = (b"RequestMessage", b"NettyRpcEnv", b"BlockTransferMessage", b"NettyBlockRpcServer")


def ports_of(pid: int) -> dict[int, str]:
    """The ports that a process listens on, with the address of each."""
    mine = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == _LISTENS and f"socket:[{parts[9]}]" in mine:
                address, _, port = parts[1].rpartition(":")
                found[int(port, 16)] = address
    return found


def told(port: int) -> bytes:
    """The answer to a request of Spark's RPC whose body is no request of anybody's."""
    body = b"\x00\x09localhost\x00\x00\x00\x01\x00\x08nowhere!" + b"\xac\xed\x00\x05garbage"
    message = struct.pack(">BqI", _RPC_REQUEST, 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(struct.pack(">q", 8 + len(message)) + message)
        connection.settimeout(5)
        try:
            return connection.recv(65536)
        except TimeoutError:
            return b""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    found = spark_session(SparkPlace(), 2, tmp_path)
    yield found
    stop_session(found)


def test_spark_listens_here_only_and_talks_to_nobody_without_its_secret(session: Any):
    jvm = session.sparkContext._gateway.proc.pid
    gateway = session.sparkContext._gateway.gateway_parameters.port
    ports = {port: address for port, address in ports_of(jvm).items() if port != gateway}
    assert ports, "the driver's RPC and block manager"
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert set(ports.values()) <= loopback
    answers = {port: told(port) for port in ports}
    # Whoever is believed gets as far as the readers of requests, and their failure says so.
    read = [answer for answer in answers.values() if any(name in answer for name in _READERS)]
    assert not read, read[0][:600]
    assert any(b"crypto" in answer or b"sasl" in answer for answer in answers.values()), answers
