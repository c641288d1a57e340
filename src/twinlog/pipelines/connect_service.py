"""The connectors of a group of workers: kept in a topic, run by the elected worker. Runs in the service, in threads.

order (REST) ─▶ config topic ─▶ every worker reads it ─▶ the elected one starts, changes and stops pipelines
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

from twinlog.config.security.masking import is_secret
from twinlog.config.security.secrets import MASK, without_login
from twinlog.errors import (
    ConnectorExists,
    ConnectorRefused,
    ConnectorUnknown,
    LogFenced,
    NotActive,
    TwinlogError,
)
from twinlog.pipelines.connect_log import connect_log
from twinlog.pipelines.connect_state import ConnectState, Target, connector_record, leader_record, target_record
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.validate import findings_of
from twinlog.pipelines.worker import Pipelines

log = logging.getLogger("twinlog.pipelines.service")
_AGAIN_S: Final = 5.0
_IN_URL: Final = re.compile(r"(?i)\b(password|pwd|secret|token)=[^&;\s]+")


def masked(key: str, value: str) -> str:
    """A value without its secrets, also those inside of an address."""
    return MASK if is_secret(key) else _IN_URL.sub(rf"\1={MASK}", without_login(value))


class ConnectService:
    """What REST and the command line ask."""

    def __init__(self, pipelines: Pipelines, url: str) -> None:
        self.pipelines = pipelines
        self.worker = pipelines.worker
        self.url = url
        self.problems: dict[str, str] = {}  # why a connector could not be started
        self._wanted = threading.Event()
        self._closing = False
        self._elected = False
        self._log = connect_log(self.worker, lambda _: self._wanted.set(), self._on_elected)
        self._running: dict[str, Mapping[str, str]] = {}
        self._thread = threading.Thread(target=self._work, name="connect-service", daemon=True)

    @property
    def state(self) -> ConnectState:
        return self._log.state

    @property
    def leads(self) -> bool:
        return self._log.leads

    def open(self) -> None:
        """Read the connectors, take part in the election. Raises ClusterError."""
        self.pipelines.prepare()
        self._log.open()
        self._thread.start()

    def close(self) -> None:
        """Stop the pipelines, then leave the group, so that the next worker finds nothing running."""
        self._closing = True
        self._wanted.set()
        if self._thread.ident is not None:
            self._thread.join(60)
        self.pipelines.close()
        self._log.close()

    def _on_elected(self) -> None:
        self._elected = True
        self._wanted.set()

    def _work(self) -> None:
        while not self._closing:
            self._wanted.wait(_AGAIN_S)
            self._wanted.clear()
            if self._closing:
                return
            try:
                if self._elected and not self._log.leads:
                    self._log.lead([leader_record(self.pipelines.worker_id, self.url)])
                self._reconcile()
            except TwinlogError as error:
                log.warning("%s", error)

    def _reconcile(self) -> None:
        """Make what runs what is wished."""
        state, mine = self._log.state, self._log.leads
        if mine and state.leader and state.leader.get("worker_id") != self.pipelines.worker_id:
            mine = False
            self._elected = False
        wished = {name: config for name, config in state.connectors.items() if mine and state.target(name) == "STARTED"}
        for name in list(self._running):
            if self._running[name] != wished.get(name):
                self.pipelines.stop(name)
                del self._running[name]
        for name, config in wished.items():
            if name in self._running:
                continue
            try:
                self.pipelines.start(name, config)
            except (TwinlogError, SettingsRefused) as error:
                self.problems[name] = str(error)
                log.warning("%s: %s", name, error)
            else:
                self.problems.pop(name, None)
                self._running[name] = config

    def config(self, name: str) -> Mapping[str, str]:
        try:
            return self.state.connectors[name]
        except KeyError:
            raise ConnectorUnknown(name, f"Connector {name} not found") from None

    def shown(self, name: str) -> dict[str, str]:
        """A configuration without its secrets."""
        return {key: masked(key, value) for key, value in self.config(name).items()}

    def create(self, name: str, config: Mapping[str, str], target: Target = "STARTED") -> None:
        if name in self.state.connectors:
            raise ConnectorExists(name, "it exists")
        self.put(name, config, target)

    def put(self, name: str, config: Mapping[str, str], target: Target | None = None) -> None:
        """Store a configuration. Raises ConnectorRefused with every error."""
        before = self.state.connectors.get(name, {})
        # A configuration that was shown may be sent back: what is masked in it did not change.
        full = {k: before[k] if k in before and v == masked(k, before[k]) else v for k, v in config.items()}
        full["name"] = name
        errors = [one for one in findings_of(name, full, self.worker.config) if one.level == "error"]
        if errors:
            lines = "\n".join(f"{one.key}: {one.message}" if one.key else one.message for one in errors)
            raise ConnectorRefused(
                name, f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{lines}"
            )
        records = [connector_record(name, full)]
        if target is not None:
            records.append(target_record(name, target))
        self._append(records)

    def delete(self, name: str) -> None:
        self.config(name)
        self._append([connector_record(name, None), target_record(name, None)])

    def wish(self, name: str, target: Target) -> None:
        self.config(name)
        self._append([target_record(name, target)])

    def restart(self, name: str) -> None:
        """Start the pipeline anew; partitions that stood still are tried again."""
        self.config(name)
        if not self.leads:
            raise self._not_active(name)
        self.pipelines.stop(name)
        self._running.pop(name, None)
        self._wanted.set()

    def _append(self, records: list[Any]) -> None:
        try:
            self._log.append(records)
        except LogFenced:
            raise self._not_active(records[0][0].decode()) from None
        self._wanted.set()

    def _not_active(self, name: str) -> NotActive:
        url = self.state.leader.get("url", "")
        return NotActive(name, f"another worker runs the connectors: {url or 'it is being elected'}")

    def status(self, name: str) -> dict[str, Any]:
        """The answer of /connectors/{c}/status."""
        config = self.config(name)
        target = self.state.target(name)
        owner = self.state.leader.get("worker_id", self.pipelines.worker_id)
        engine = self.pipelines.engine(name)
        kind = "unknown"
        with contextlib.suppress(SettingsRefused):
            kind = read_connector(name, config, self.worker.config).kind
        state: str = {"PAUSED": "PAUSED", "STOPPED": "STOPPED"}.get(target, "UNASSIGNED")
        trace = self.problems.get(name, "")
        tasks: list[dict[str, Any]] = []
        if target == "STARTED" and trace:
            state = "FAILED"
        elif target == "STARTED" and engine is not None:
            state = engine.progress.state
            trace = engine.progress.trace if state == "FAILED" else ""
            tasks = [self._task(number, engine.progress, owner) for number in range(max(1, engine.progress.tasks))]
        connector = {"state": state, "worker_id": owner} | ({"trace": trace} if trace else {})
        return {"name": name, "connector": connector, "tasks": tasks, "type": kind}

    @staticmethod
    def _task(number: int, progress: Any, owner: str) -> dict[str, Any]:
        faults = "; ".join(
            f"{one['topic']}-{one.get('partition', '')} offset {one.get('offset', '')}: {one['stage']}: "
            f"{one['exception']}: {one['message']}"
            for one in progress.faults
        )
        trace = faults or (progress.trace if progress.state == "FAILED" else "")
        state = "FAILED" if trace else "RUNNING"
        return {"id": number, "state": state, "worker_id": owner} | ({"trace": trace} if trace else {})
