"""Ends a child process when its parent ends, however that ends: by a signal, a crash or kill -9."""

from __future__ import annotations

import subprocess

_KILL_PROCESS = 'read -r _; kill -9 "$1" 2>/dev/null'
# Debian's sh takes the number of a group only behind `-s`.
_KILL_GROUP = 'read -r _; kill -s KILL -- "-$1" 2>/dev/null'


class Lifeline:
    """A sleeping shell that holds one end of a pipe, and kills the process when the other end closes."""

    def __init__(self, pid: int, *, whole_group: bool = False) -> None:
        """Start to watch; with `whole_group` every process of the group `pid` is killed."""
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _KILL_GROUP if whole_group else _KILL_PROCESS, "sh", str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def release(self) -> None:
        """Watch no longer: call it before another process may get the number of an ended one."""
        self._shell.kill()
        self._shell.communicate()
