"""A service over paper: connectors, their store and their engines in memory, for tests of what is said over HTTP."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from tests.kit.waiting import wait_until

from twinlog.config.resolve import Resolved, resolve
from twinlog.config.service_settings import HttpSettings
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.control.audit import Audit
from twinlog.control.connector_service import ConnectorService
from twinlog.control.group_trust import GroupTrust
from twinlog.control.kind import Position
from twinlog.control.link_kinds import settings_of
from twinlog.control.record_signatures import Record
from twinlog.control.states import EngineView
from twinlog.engine.spec_changes import Change, Spec
from twinlog.errors import NotActive, UsageError
from twinlog.machine.local_token import LocalToken
from twinlog.model.connectors import GroupState, Prove
from twinlog.pipelines.worker_settings import Worker
from twinlog.surface.http.app import build_app
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.local_login import TokenLogin
from twinlog.surface.http.serve import address_of, bind, is_unix, server_of

MIRROR = "org.apache.kafka.connect.mirror.Mirror{}Connector"
TOKEN = "the-token-of-a-paper-service"


class PaperTopic:
    """The links topic of one group, shared by the services of it. The first in line leads."""

    def __init__(self, group: str = "g") -> None:
        self.group_state = GroupState(group)  # as somebody reads it who does not know the group's secret
        self.written: list[Record] = []
        self.audited: list[bytes] = []
        self.audit_trouble: str | None = None
        self.leader: PaperStore | None = None
        self.stores: list[PaperStore] = []
        self.away: list[PaperStore] = []  # services that Kafka has not heard of for too long
        self.reports: dict[bytes, bytes] = {}  # what services tell each other of their pipelines
        self.tables: list[PaperTable] = []
        self.reports_trouble: Exception | None = None

    def write(self, by: PaperStore, records: Sequence[Record]) -> GroupState:
        if self.leader is not by:
            raise NotActive(self.group_state.group, "another service took the links over")
        for key, value in records:
            self.plant(key, value)
        return by.group_state

    def plant(self, key: bytes, value: bytes | None) -> None:
        """A record, whoever wrote it."""
        self.written.append((key, value))
        self.group_state = self.group_state.take(key, value)
        for store in self.stores:
            store.hear(key, value)

    def changed(self) -> None:
        """Services came or went."""
        for store in self.stores:
            store.on_members()

    def drop(self, store: PaperStore) -> None:
        """A service ended, or Kafka has not heard of it for too long: the next one leads."""
        if store in self.stores:
            self.stores.remove(store)
        if self.stores and self.leader is store:
            self.stores[0].on_elected()
        self.changed()


class PaperStore:
    def __init__(
        self,
        topic: PaperTopic,
        prove: Prove | None,
        on_news: Callable[[GroupState], None],
        on_elected: Callable[[], None],
        on_members: Callable[[], None] = lambda: None,
    ) -> None:
        self.topic, self.on_news, self.on_elected, self.on_members = topic, on_news, on_elected, on_members
        self.announced: str | None = None
        self.group_state = GroupState(topic.group_state.group, prove=prove)

    def open(self) -> GroupState:
        for record in self.topic.written:
            self.group_state = self.group_state.take(*record)
        self.topic.stores.append(self)
        self.topic.changed()
        if len(self.topic.stores) == 1:
            self.on_elected()
        return self.group_state

    def hear(self, key: bytes, value: bytes | None) -> None:
        self.group_state = self.group_state.take(key, value)
        self.on_news(self.group_state)

    def lead(self, records: Sequence[Record]) -> GroupState:
        self.topic.leader = self
        return self.append(records)

    def append(self, records: Sequence[Record]) -> GroupState:
        return self.topic.write(self, records)

    def announce(self, text: str) -> None:
        self.announced = text
        self.topic.changed()

    def members(self) -> tuple[str, ...] | None:
        return tuple(store.announced or "" for store in self.topic.stores if store not in self.topic.away)

    def audit(self, entry: bytes, done: Callable[[str | None], None]) -> None:
        if self.topic.audit_trouble is None:
            self.topic.audited.append(entry)
        done(self.topic.audit_trouble)

    def close(self) -> None:
        self.topic.drop(self)


class PaperTable:
    """The reports of the services of a group."""

    def __init__(self, topic: PaperTopic, on_change: Callable[[], None]) -> None:
        self.topic, self._on_change = topic, on_change

    @property
    def rows(self) -> dict[bytes, bytes]:
        return self.topic.reports

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.topic.tables.append(self)

    async def put(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> None:
        if self.topic.reports_trouble is not None:
            raise self.topic.reports_trouble
        for key, value in pairs:
            if value is None:
                self.topic.reports.pop(key, None)
            else:
                self.topic.reports[key] = value
        for table in self.topic.tables:
            table.tell()

    def tell(self) -> None:
        self._loop.call_soon_threadsafe(self._on_change)

    async def close(self) -> None:
        self.topic.tables.remove(self)


class PaperRunner:
    """Links that run at once and never move."""

    def __init__(self) -> None:
        self.links: dict[str, LinkSettings] = {}
        self.others: list[Spec] = []
        self.pipelines: dict[str, EngineView] = {}  # what is told of a pipeline's job
        self.heartbeats: tuple[HeartbeatPair, ...] = ()
        self.phases: dict[str, tuple[str, str | None]] = {}
        self.restarted: list[str] = []
        self.forgotten: list[str] = []
        self.there: list[Position] = [("orders", 0, 10), ("orders", 1, 0)]

    async def become(self, specs: Sequence[Spec], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        self.links = {spec.name: spec for spec in specs if isinstance(spec, LinkSettings)}
        self.others = [spec for spec in specs if not isinstance(spec, LinkSettings)]
        self.heartbeats = tuple(heartbeats)
        return ()

    async def begun(self) -> None:
        """At once."""

    async def restart(self, name: str) -> None:
        self.restarted.append(name)

    def snapshot(self, name: str) -> EngineView | None:
        if any(spec.name == name for spec in self.others):
            return self.pipelines.get(name, EngineView("running", None, 2))
        if name not in self.links:
            return None
        return EngineView(*self.phases.get(name, ("running", None)), self.links[name].reading.tasks_max or 1)

    def check(self, spec: Spec) -> None:
        if isinstance(spec, LinkSettings) and spec.source == "impossible":
            raise UsageError("impossible: this machine cannot log in there")

    async def positions(self, link: LinkSettings) -> list[Position]:
        del link
        return self.there

    async def forget(self, link: LinkSettings, topic: str) -> None:
        del link
        if topic == "full":
            raise UsageError("full: still exists")
        self.forgotten.append(topic)


class PaperService:
    """One service: its connectors in a loop of its own, and a client that asks it."""

    def __init__(
        self,
        topic: PaperTopic,
        *,
        text: str = "",
        http: HttpSettings | None = None,
        instance: str = "one",
        url: str | None = None,
        audit: Path | None = None,
        app_state: Callable[[Audit], AppState] | None = None,
        environment: Mapping[str, str] | None = None,
        worker: Worker | None = None,
        shares: bool = False,
    ) -> None:
        self.topic, self.runner, self.http = topic, PaperRunner(), http or HttpSettings()
        self.control = ConnectorService(
            self.runner,
            lambda *given: PaperStore(topic, *given),
            group=topic.group_state.group,
            instance=instance,
            url=url or f"http://{instance}:8083",
            environment=environment or {"SECRET": "hush-from-env"},
            audit=Audit(audit, required=self.http.audit_required),
            trust=GroupTrust(topic.group_state.group, self.http.group_secret, self.http.group_urls),
            worker=worker,
            reports=(lambda on_change: PaperTable(topic, on_change)) if shares else None,
        )
        self.app = build_app(
            None,
            self.control,
            self.http,
            token=TokenLogin(LocalToken(TOKEN), 8083),
            cluster_id=lambda: "id-of-the-cluster",
            app_state=None if app_state is None else app_state(self.control.audit),
        )
        self.file: Resolved | None = resolve(text.encode(), "links.properties", (), {}) if text else None

    def settings(self, connector: str) -> LinkSettings:
        """What a connector's link is set to."""
        return settings_of(self.control.connectors.subject(connector))


@contextmanager
def asked(service: PaperService, *, active: bool = True, anonymous: bool = False) -> Iterator[TestClient]:
    """A client while it runs, in one loop: of the user who runs the service, or of anybody on the machine."""
    client = TestClient(service.app, base_url="http://127.0.0.1:8083", raise_server_exceptions=False)
    if not anonymous and not service.http.asks_who:
        client.headers["authorization"] = f"Bearer {TOKEN}"
    tasks: list[asyncio.Task[None]] = []

    async def begin() -> None:
        if service.file is not None:
            await service.control.use_file(service.file)
        tasks.append(asyncio.create_task(service.control.run()))

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with client:
        assert client.portal is not None
        client.portal.call(begin)
        try:
            wait_until(
                lambda: (service.control.leadership.trouble, service.control.leadership.active),
                lambda seen: seen == (None, active),
                within_s=60,
                what="who leads",
            )
            yield client
        finally:
            client.portal.call(end)


@contextmanager
def served(service: PaperService, sock: socket.socket | None = None, *, active: bool = True) -> Iterator[str]:
    """A real server over paper links, in a thread; yields its address."""
    taken = sock or bind("127.0.0.1:0", service.http)
    server = server_of(service.app, service.http, unix=is_unix(taken))

    async def main() -> None:
        if service.file is not None:
            await service.control.use_file(service.file)
        keeping = asyncio.create_task(service.control.run())
        await server.serve(sockets=[taken])
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    try:
        wait_until(
            lambda: (service.control.leadership.trouble, service.control.leadership.active, server.started),
            lambda seen: seen == (None, active, True),
            within_s=60,
            what="the server",
        )
        yield address_of(taken, service.http)
    finally:
        server.should_exit = True
        thread.join(20)
        taken.close()


def config(kind: str = "Source", **more: Any) -> dict[str, Any]:
    """The config of a MirrorMaker connector from A to B."""
    return {
        "connector.class": MIRROR.format(kind),
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
        "tasks.max": 1,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def make(client: TestClient, name: str = "c", /, kind: str = "Source", **more: Any) -> Any:
    answer = client.post("/connectors", json={"name": name, "config": config(kind, **more)})
    assert answer.status_code == 201, answer.text
    return answer


def await_links(service: PaperService, *names: str) -> None:
    wait_until(lambda: set(service.runner.links), lambda seen: seen == set(names), within_s=20, what=f"links {names}")
