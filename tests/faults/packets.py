"""Packets that are lost: nftables in the network namespace of the run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable

from tests.faults.sandbox import inside

_TABLE = "inet twinlog_faults"


class Network:
    """Rules for packets to and from ports of the loopback interface, in the network namespace of the run."""

    def __init__(self) -> None:
        self._open = True

    def rule(self, *rules: str) -> None:
        """Add rules in nftables' words; all are gone with `open`."""
        if not inside():
            raise RuntimeError("the network is only cut within a namespace of its own")
        if self._open:
            _nft(f"add table {_TABLE}")
            _nft(f"add chain {_TABLE} out {{ type filter hook output priority 0; }}")
            self._open = False
        for rule in rules:
            _nft(f"add rule {_TABLE} out {rule}")

    def lose(self, ports: Iterable[int], *, to: bool = True, back: bool = True, what: str = "drop") -> None:
        """Drop (or refuse) what goes to these ports, what comes back from them, or both."""
        listed = ", ".join(str(port) for port in sorted(ports))
        if to:
            self.rule(f"tcp dport {{ {listed} }} {what}")
        if back:
            self.rule(f"tcp sport {{ {listed} }} {what}")

    def open(self) -> None:
        """Let everything pass again."""
        if not self._open:
            _nft(f"delete table {_TABLE}")
            self._open = True


def _nft(command: str) -> None:
    subprocess.run(["nft", command], check=True, capture_output=True)
