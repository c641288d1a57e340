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
        if to:
            self.rule(f"tcp dport {{ {_listed(ports)} }} {what}")
        if back:
            self.rule(f"tcp sport {{ {_listed(ports)} }} {what}")

    def redirect(self, ports: Iterable[int], to: int, mark: int) -> None:
        """Let new connections to these ports go to another one, but for those with a mark."""
        self.rule()
        _nft(f"add chain {_TABLE} turn {{ type nat hook output priority -100; }}")
        _nft(f"add rule {_TABLE} turn meta mark != {mark} tcp dport {{ {_listed(ports)} }} redirect to :{to}")

    def open(self) -> None:
        """Let everything pass again."""
        if not self._open:
            _nft(f"delete table {_TABLE}")
            self._open = True


def _listed(ports: Iterable[int]) -> str:
    return ", ".join(str(port) for port in sorted(ports))


def _nft(command: str) -> None:
    subprocess.run(["nft", command], check=True, capture_output=True)
