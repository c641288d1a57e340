"""An HTTP server that gives one answer to all requests and keeps them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def answering(status: int, *headers: str) -> Iterator[tuple[int, list[bytes]]]:
    """A server that says one thing to everybody, and keeps what it was asked."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(65536))
                    head = "\r\n".join([f"HTTP/1.1 {status} x", *headers, "content-length: 0", "connection: close"])
                    connection.sendall(f"{head}\r\n\r\n".encode())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1], heard
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)
