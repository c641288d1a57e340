"""Where `twinlog pipeline dlq` finds parked records: at the service that runs the pipeline, or in Kafka itself.

The service knows the topic, checks roles and writes to the audit. A worker's file (-c) works without a service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from twinlog.errors import UsageError
from twinlog.surface.cli.commands.connect_rest import ask

if TYPE_CHECKING:
    from twinlog.config.settings import ClientSettings
    from twinlog.pipelines.parked import Parked

_AT_ONCE: Final = 1000


@dataclass(frozen=True)
class Letter:
    """One parked record. `raw` is None where it has no value; `whole` says whether `raw` is what lies in the topic."""

    facts: dict[str, Any]
    raw: bytes | None
    whole: bool = True

    @property
    def at(self) -> str:
        """PARTITION:OFFSET."""
        return str(self.facts["at"])

    @property
    def is_open(self) -> bool:
        return bool(self.facts["state"] == "open")


class Letters(Protocol):
    """The parked records of one pipeline."""

    @property
    def topic(self) -> str:
        """Where they lie."""
        ...

    def read(self) -> list[Letter]:
        """All of them, oldest first."""
        ...

    def replay(self, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        """Write records back."""
        ...

    def drop(self, at: Sequence[str]) -> int:
        """Say that nothing will be done with them."""
        ...


def letters_of(name: str, config: Path | None, topic: str | None, url: str) -> Letters:
    """The parked records of a pipeline. Raises UsageError, ServiceError."""
    if config is not None:
        return _InKafka(_cluster(config), topic or _asked_topic(name, url))
    if topic is not None:
        raise UsageError("--topic: the service knows the topic; give --config to read a topic of your choice")
    return _AtService(url, name, _asked_topic(name, url))


def _asked_topic(name: str, url: str) -> str:
    topic = ask(url, "GET", "connectors", name, "config").get("errors.deadletterqueue.topic.name", "")
    if not topic:
        raise UsageError(f"{name}: it parks no records; errors.deadletterqueue.topic.name is not set")
    return str(topic)


def _cluster(config: Path) -> ClientSettings:
    from twinlog.pipelines.files import read_properties
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.worker_settings import read_worker

    try:
        return read_worker(read_properties(config)).cluster
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


def text_of(data: bytes | None) -> str | None:
    """Bytes as text; those that are none as escapes."""
    return None if data is None else data.decode(errors="backslashreplace")


@dataclass(frozen=True)
class _AtService:
    url: str
    name: str
    topic: str

    def read(self) -> list[Letter]:
        rows = ask(self.url, "GET", "v1", "pipelines", self.name, "parked", query="?all=true")
        return [self._letter(row) for row in reversed(rows)]

    @staticmethod
    def _letter(row: Mapping[str, Any]) -> Letter:
        facts = {"at": row["at"], "state": row["state"], "from": row["origin"], "reason": row["reason"]}
        raw = None if row["value"] is None else row["value"].encode()
        return Letter({**facts, "key": row["key"], "value": row["value"]}, raw, row["whole"] or raw is None)

    def replay(self, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        body: dict[str, Any] = {} if to is None else {"to": to}
        if repaired:
            try:
                body["value"] = next(iter(repaired.values())).decode()
            except UnicodeDecodeError:
                raise UsageError("--value: the file is no text; give --config to write bytes") from None
        return self._send("replay", at, body)

    def drop(self, at: Sequence[str]) -> int:
        return self._send("drop", at, {})

    def _send(self, order: str, at: Sequence[str], body: Mapping[str, Any]) -> int:
        done = 0
        for start in range(0, len(at), _AT_ONCE):
            some = {"at": list(at[start : start + _AT_ONCE]), **body}
            done += ask(self.url, "POST", "v1", "pipelines", self.name, "parked", order, body=some)["records"]
        return done


@dataclass(frozen=True)
class _InKafka:
    cluster: ClientSettings
    topic: str

    def _parked(self) -> list[Parked]:
        from twinlog.pipelines.parked import read_parked

        return read_parked(self.cluster, self.topic)

    def read(self) -> list[Letter]:
        return [
            Letter(
                {
                    "at": str(parked.place), "state": parked.action, "from": parked.origin or "unknown",
                    "reason": parked.reason, "key": text_of(parked.key), "value": text_of(parked.value),
                    "told": dict(parked.told), "headers": {key: text_of(data) for key, data in parked.headers},
                },
                parked.value,
            )
            for parked in self._parked()
        ]  # fmt: skip

    def replay(self, at: Sequence[str], repaired: Mapping[str, bytes], to: str | None) -> int:
        from twinlog.pipelines.parked import Place, replay

        values = {Place.parse(place): value for place, value in repaired.items()}
        return replay(self.cluster, self.topic, self._chosen(at), values, to)

    def drop(self, at: Sequence[str]) -> int:
        from twinlog.pipelines.parked import drop

        return drop(self.cluster, self.topic, self._chosen(at))

    def _chosen(self, at: Sequence[str]) -> list[Parked]:
        return [parked for parked in self._parked() if str(parked.place) in set(at)]
