"""One Kafka node as a child process: start, stop, and the faults that tests do to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import javaproperties

from twinlog.errors import BrokerNotReady
from twinlog.local.archive import adopt_recording, archive_options, archive_path
from twinlog.local.blueprint import Node
from twinlog.local.jars import KAFKA_VERSION, JarSet, class_path, kafka_jars, resolve
from twinlog.local.lifeline import Lifeline
from twinlog.local.process import command_line, lives
from twinlog.local.security import HOST
from twinlog.machine.folders import log_tail, write_atomically
from twinlog.machine.java import find_java

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
_RECORDING_SECONDS = 40.0
_POLL_SECONDS = 0.05
# The node prints it once it is registered, unfenced and listening.
_READY = b"Kafka Server started"


class Broker:
    """One node of a local cluster.

    Unless `detached`, it never outlives the Python process that started it, however that ends: a sleeping shell holds
    one end of a pipe, and kills the broker when the other end closes. (Linux could tie it to its parent directly, but
    to the *thread* that started it, which often ends first.)
    """

    def __init__(
        self,
        cluster: str,
        node: Node,
        folder: Path,
        properties: Mapping[str, str],
        java_options: tuple[str, ...] = (),
        *,
        kafka: str = KAFKA_VERSION,
        detached: bool = False,
    ) -> None:
        self.cluster = cluster
        # Its Kafka version. Another one is run from the next start on: a test upgrades a cluster broker by broker.
        self.kafka = kafka
        self.node_id = node.node_id
        self.port = node.client_port
        self.folder = folder
        self.log = folder / "broker.log"
        self._properties = dict(properties)
        self._java_options = java_options
        self._detached = detached
        self._settings_file = folder / "server.properties"
        self._pid_file = folder / "pid"
        self._recording = folder / "recording.jsa"
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: Lifeline | None = None
        self._recognized: int | None = None
        self._log_start: int | None = None

    @property
    def address(self) -> str:
        """Return host and port of the client listener itself, whatever is advertised."""
        return f"{HOST}:{self.port}"

    @property
    def _jars(self) -> JarSet:
        return kafka_jars(self.kafka)

    @property
    def pid(self) -> int | None:
        """Return the process id while the process lives, whoever started it."""
        if self._process is not None:
            return self._process.pid if self._process.poll() is None else None
        try:
            recorded = int(self._pid_file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None
        if not lives(recorded):
            return None
        # After a reboot the number may belong to anybody; only our broker was given this file. While it ends, the
        # system forgets its command line before it closes its port, so the one we knew lives until that is done.
        command = command_line(recorded)
        if str(self._settings_file) in command:
            self._recognized = recorded
            return recorded
        return recorded if recorded == self._recognized and not command else None

    @property
    def running(self) -> bool:
        """Tell whether the process lives; a frozen one does."""
        return self.pid is not None

    @property
    def answers(self) -> bool:
        """Tell whether somebody accepts connections at the client port."""
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
            return self.running
        return False

    def start(self, timeout: float = READY_SECONDS) -> None:
        """Start and wait until the broker serves clients; on the same port and data as ever."""
        self.launch()
        self.await_ready(timeout)

    def launch(self) -> None:
        """Start the process without waiting; nothing happens if it runs."""
        if self.running:
            return
        self._let_go()
        runtime = find_java()
        self._recording.unlink(missing_ok=True)
        write_atomically(self._settings_file, javaproperties.dumps(self._properties, timestamp=False), mode=0o600)
        command = [
            str(runtime.java),
            # C1 and the serial collector: a broker on a laptop is short-lived and small.
            *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
            "-XX:+ExitOnOutOfMemoryError",
            *archive_options(runtime, archive_path(runtime, self._jars), self._recording),
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
            *self._java_options,
            *("-cp", class_path(resolve(self._jars)), "kafka.Kafka", str(self._settings_file)),
        ]
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=os.environ | {"MALLOC_ARENA_MAX": "2"},
                # Its own session: Ctrl-C in the terminal is for us, who then stop the brokers in order.
                start_new_session=True,
            )
        write_atomically(self._pid_file, f"{self._process.pid}\n")
        if not self._detached:
            self._lifeline = Lifeline(self._process.pid)

    def await_ready(self, timeout: float = READY_SECONDS) -> None:
        """Wait until the broker is registered and serves; say why not with the end of its log."""
        deadline = time.monotonic() + timeout
        while not self._ready():
            if not self.running:
                code = self._process.returncode if self._process else "unknown"
                raise self._not_ready(f"ended (exit code {code}) before it was ready")
            if time.monotonic() > deadline:
                raise self._not_ready(f"not ready after {timeout:.0f} s")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the broker in order; kill it if it takes too long."""
        self.begin_stop()
        self.finish_stop()

    def begin_stop(self) -> None:
        """Ask the broker to end, without waiting."""
        self.thaw()
        self._signal(signal.SIGTERM)

    def finish_stop(self, within_s: float = STOP_SECONDS) -> None:
        """Wait for the end that `begin_stop` asked for, and kill when patience ends: the log is sound either way."""
        recorded = self._recording.exists() or self._records()
        if self._gone_within(_RECORDING_SECONDS if recorded else within_s):
            adopt_recording(self._recording, archive_path(find_java(), self._jars))
            self._let_go()
        else:
            self.kill()

    def kill(self) -> None:
        """End the broker at once, as `kill -9` or a power cut of this one machine would."""
        self._signal(signal.SIGKILL)
        if not self._gone_within(STOP_SECONDS):
            raise self._not_ready("does not end after SIGKILL")
        self._recording.unlink(missing_ok=True)
        self._let_go()

    def freeze(self) -> None:
        """Stop the broker in its tracks: connections stay open, nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen broker continue; nothing happens to one that is not frozen."""
        self._signal(signal.SIGCONT)

    def restart(self, timeout: float = READY_SECONDS) -> None:
        """Stop in order and start again."""
        self.stop()
        self.start(timeout)

    def _ready(self) -> bool:
        if self._log_start is None:
            # Somebody else started it; its port opens before it is ready only in the first second of its life.
            return self.answers
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return _READY in log.read()

    def _not_ready(self, problem: str) -> BrokerNotReady:
        return BrokerNotReady(
            cluster=self.cluster,
            node_id=self.node_id,
            problem=problem,
            log=str(self.log),
            log_tail=log_tail(self.log, 20),
        )

    def _records(self) -> bool:
        pid = self.pid
        return pid is not None and str(self._recording) in command_line(pid)

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _let_go(self) -> None:
        """Forget an ended process: first its lifeline, which must not fire at a reused process id."""
        if self._lifeline is not None:
            self._lifeline.release()
            self._lifeline = None
        self._process = None
        self._pid_file.unlink(missing_ok=True)
