"""The status of the registry: for people, for load balancers and for Prometheus."""

from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.registry.node import RegistryNode
from twinlog.surface.registry.forwarding import Forwarding
from twinlog.surface.registry.hot_path import Prepared

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


@dataclass
class Counters:
    """Requests by outcome, and how long they took."""

    answered: dict[str, int] = field(default_factory=dict)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    seconds: float = 0.0

    def note(self, status: int, seconds: float) -> None:
        kind = f"{status // 100}xx"
        self.answered[kind] = self.answered.get(kind, 0) + 1
        self.seconds += seconds
        at = next((index for index, limit in enumerate(_BUCKETS) if seconds <= limit), len(_BUCKETS))
        self.buckets[at] += 1


@dataclass
class Status:
    """Answers questions about one instance."""

    node: RegistryNode
    forwarding: Forwarding
    counters: Counters = field(default_factory=Counters)
    prepared: Prepared | None = None

    def facts(self) -> dict[str, Any]:
        """Everything that is known; what is not known is null."""
        node, reader, role = self.node, self.node.reader, self.node.role
        election, state = node.elector.status, node.reader.state
        return {
            "url": node.settings.me.url,
            "role": self._role(),
            "leader": None if role.leader is None else role.leader.url,
            "copy_of": node.copy_of,
            "term": None if state.home is None else state.home.term,
            "eligible": node.settings.me.eligible,
            "since": int(role.since * 1000),
            "group": node.settings.group,
            "generation": election.generation if election.joined_at is not None else None,
            "members": election.members,
            "topic": reader.topic,
            "loaded": self.is_ready(),
            "snapshot_of": None if reader.status.snapshot_of is None else int(reader.status.snapshot_of * 1000),
            "loading": None if self.is_ready() else {"read": reader.position, "of": reader.status.end_at_start},
            "offset": reader.position,
            "subjects": len(state.subjects),
            "versions": state.schema_count,
            "schemas": state.content_count,
            "last_id": {context: state.max_id(context) for context in [".", *state.context_names()]},
            "faults": [
                {"offset": fault.offset, "record": fault.key, "reason": fault.reason} for fault in reader.status.faults
            ],
            "fault_count": reader.status.fault_count,
            "errors": [text for text in self._errors() if text],
        }

    def _role(self) -> str:
        node = self.node
        if node.copy_of is not None:
            return "copy"
        return "leader" if node.leads else "follower" if node.role.leader is not None else "no leader"

    def _errors(self) -> tuple[str | None, ...]:
        node = self.node
        return node.start_error, node.reader.status.last_error, node.elector.status.last_error, node.role.last_error

    def is_ready(self) -> bool:
        """Whether clients get right answers: the topic was read, or what was written down of it at last."""
        status = self.node.reader.status
        return status.loaded or status.snapshot_of is not None

    def loading(self) -> str:
        status = self.node.reader.status
        if self.node.start_error is not None:
            return f"the registry waits for Kafka: {self.node.start_error}"
        of = "an unknown number of" if status.end_at_start is None else str(status.end_at_start)
        return f"loading {self.node.reader.position} of {of} records"

    def metrics(self) -> bytes:
        """For Prometheus, under the names that dashboards of Confluent's registry use where there are such."""
        facts, node = self.facts(), self.node
        leader = 1 if node.leads else 0
        lines: list[str] = []

        def gauge(name: str, value: float | None, told: str, kind: str = "gauge") -> None:
            if value is not None:
                lines.extend((f"# HELP {name} {told}", f"# TYPE {name} {kind}", f"{name} {value}"))

        gauge("kafka_schema_registry_master_slave_role", leader, "1 when this instance leads.")
        gauge("kafka_schema_registry_leader_known", int(node.role.leader is not None), "1 when somebody leads.")
        gauge("kafka_schema_registry_registered_count", facts["versions"], "Versions of all subjects.")
        gauge("twinlog_registry_subjects", facts["subjects"], "Subjects with a version.")
        gauge("twinlog_registry_schemas", facts["schemas"], "Different schemas.")
        gauge("twinlog_registry_last_id", facts["last_id"]["."], "The highest id of the default context.")
        gauge("twinlog_registry_offset", facts["offset"], "The next offset of the topic that is read.")
        gauge("twinlog_registry_copy", int(facts["copy_of"] is not None), "1 when another datacenter writes.")
        gauge("twinlog_registry_snapshot", int(facts["snapshot_of"] is not None), "1 when Kafka cannot be read.")
        gauge("twinlog_registry_loaded", int(facts["loaded"]), "1 when the topic was read to its end.")
        gauge("twinlog_registry_record_faults_total", facts["fault_count"], "Records that were left out.", "counter")
        gauge("twinlog_registry_election_failures", node.elector.status.failures, "Failures in a row.")
        gauge("twinlog_registry_forwarded_total", self.forwarding.forwarded, "Writes passed to the leader.", "counter")
        if node.term is not None:
            gauge("twinlog_registry_batches_total", node.term.rounds, "Batches written by this leader.", "counter")
        name = "twinlog_registry_requests_total"
        lines += [f"# HELP {name} Answered requests.", f"# TYPE {name} counter"]
        if self.prepared is not None:
            lines.append(f'{name}{{status="prepared"}} {self.prepared.hits}')
        lines += [f'{name}{{status="{kind}"}} {count}' for kind, count in sorted(self.counters.answered.items())]
        lines += self._histogram()
        return ("\n".join(lines) + "\n").encode()

    def _histogram(self) -> list[str]:
        name = "twinlog_registry_request_seconds"
        lines = [f"# HELP {name} Time until the answer, of requests that were not answered from prepared bytes."]
        lines.append(f"# TYPE {name} histogram")
        total = 0
        for limit, count in zip((*_BUCKETS, "+Inf"), self.counters.buckets, strict=True):
            total += count
            lines.append(f'{name}_bucket{{le="{limit}"}} {total}')
        return [*lines, f"{name}_sum {self.counters.seconds}", f"{name}_count {total}"]


METRICS_TYPE: Final = _TEXT.encode()
