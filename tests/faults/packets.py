"""Packets that are lost: nftables in the network namespace of the run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable

from tests.faults.sandbox import inside

_TABLE = "inet twinlog_faults"
_COUNTED = re.compile(r"counter packets (\d+)")
_VERDICTS = ("drop", "reject with tcp reset")


class Network:
    """Rules for packets to and from ports of the loopback interface, in the network namespace of the run."""

    def __init__(self) -> None:
        self._open = True
        self._met = 0

    def rule(self, *rules: str) -> None:
        """Add rules in nftables' words; all are gone with `open`."""
        if not inside():
            raise RuntimeError("the network is only cut within a namespace of its own")
        if self._open:
            _nft(f"add table {_TABLE}")
            _nft(f"add chain {_TABLE} out {{ type filter hook output priority 0; }}")
            self._open = False
        for rule in rules:
            _nft(f"add rule {_TABLE} out {_counting(rule)}")

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
        _nft(f"add rule {_TABLE} turn meta mark != {mark} tcp dport {{ {_listed(ports)} }} counter redirect to :{to}")

    @property
    def met(self) -> int:
        """How many packets (of redirected ones: how many connections) the rules met since the network was whole."""
        return self._met if self._open else _count()

    def open(self) -> None:
        """Let everything pass again."""
        if not self._open:
            self._met = _count()
            _nft(f"delete table {_TABLE}")
            self._open = True


def _listed(ports: Iterable[int]) -> str:
    return ", ".join(str(port) for port in sorted(ports))


def _counting(rule: str) -> str:
    """The same rule, which counts what it meets."""
    verdict = next(verdict for verdict in _VERDICTS if rule.endswith(verdict))
    return f"{rule.removesuffix(verdict)}counter {verdict}"


def _count() -> int:
    return sum(int(count) for count in _COUNTED.findall(_nft(f"list table {_TABLE}")))


def _nft(command: str) -> str:
    return subprocess.run(["nft", command], check=True, capture_output=True, text=True).stdout
