"""What the operating system lets a connection hold."""

from __future__ import annotations

from pathlib import Path

from twinlog.machine.sockets import SocketBuffers, read_socket_buffers


def test_the_largest_buffers_are_what_counts(tmp_path: Path) -> None:
    (tmp_path / "tcp_rmem").write_text("4096\t131072\t33554432\n")
    (tmp_path / "tcp_wmem").write_text("4096\t16384\t4194304\n")
    assert read_socket_buffers(tmp_path) == SocketBuffers(33_554_432, 4_194_304)


def test_a_system_that_does_not_say_is_unknown_and_not_zero(tmp_path: Path) -> None:
    assert read_socket_buffers(tmp_path) is None
    (tmp_path / "tcp_rmem").write_text("many\n")
    (tmp_path / "tcp_wmem").write_text("4096\n")
    assert read_socket_buffers(tmp_path) is None
