"""One answer for all who may have it, and never one that is not true any more."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fastapi import Request
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.security.users import save_user, with_password
from twinlog.config.service_settings import HttpSettings
from twinlog.control.audit import Role, Who
from twinlog.surface.http import response_cache
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.gate import Message, Receive, Scope, Send
from twinlog.surface.http.response_cache import ResponseCache, keep_for_all, keep_for_visitor

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"
ANNA = Who("anna", "admin")


class Route:
    """What stands behind the cache: counts what it makes, and can be held while it does."""

    def __init__(self, keep: Callable[[Request], Awaitable[None]] | None = keep_for_all, status: int = 200) -> None:
        self.keep, self.status = keep, status
        self.made, self.size, self.more = 0, 0, False
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()
        self.turn: object = 0
        self.cache = ResponseCache(self, turn=lambda: self.turn)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if self.keep is not None:
            await self.keep(Request({"type": "http", **scope}))
        self.made += 1
        body = b"%d" % self.made + b" " * self.size
        self.begun.set()
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": self.more})
        if self.more:
            await send({"type": "http.response.body", "body": b"!"})

    async def ask(self, path: str = "/a", query: bytes = b"", method: str = "GET", who: Who = ANNA) -> str:
        told: list[Message] = []

        async def send(message: Message) -> None:
            told.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        scope = {"type": "http", "method": method, "path": path, "query_string": query, "twinlog.who": who}
        await self.cache(scope, receive, send)
        assert told[0]["status"] == self.status
        return b"".join(message["body"] for message in told[1:]).decode().strip()


def test_an_answer_is_made_once_until_something_new_is_seen() -> None:
    async def main() -> None:
        route = Route()
        assert [await route.ask() for _ in range(3)] == ["1", "1", "1"]
        assert await route.ask(query=b"x=1") == "2", "another question"
        route.turn = 1
        assert [await route.ask() for _ in range(3)] == ["3", "3", "3"]

    asyncio.run(main())


def test_ages_in_an_answer_are_a_second_old_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        route = Route()
        assert [await route.ask(), await route.ask()] == ["1", "1"]
        monkeypatch.setattr(response_cache, "KEPT_SECONDS", -1.0)
        assert [await route.ask(), await route.ask()] == ["2", "3"]

    assert response_cache.KEPT_SECONDS == 1.0
    asyncio.run(main())


def test_readers_who_come_together_wait_for_one_answer_and_the_first_may_leave() -> None:
    async def main() -> None:
        route = Route()
        route.go_on.clear()
        readers = [asyncio.create_task(route.ask()) for _ in range(20)]
        await route.begun.wait()
        await asyncio.sleep(0)
        readers[1].cancel()  # one who waits takes nothing from the others
        route.go_on.set()
        answers = await asyncio.gather(*readers, return_exceptions=True)
        assert isinstance(answers.pop(1), asyncio.CancelledError)
        assert answers == ["1"] * 19
        route.turn = 2
        route.begun.clear()
        route.go_on.clear()
        readers = [asyncio.create_task(route.ask()) for _ in range(3)]
        await route.begun.wait()
        readers[0].cancel()  # the one who has it made: the others make it themselves
        route.go_on.set()
        answers = await asyncio.gather(*readers, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert "1" not in answers

    asyncio.run(main())


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_read_after_an_order_is_made_anew_and_so_is_one_that_it_overtook(method: str) -> None:
    async def main() -> None:
        route = Route()
        assert await route.ask() == "1"
        assert await route.ask("/b", method=method) == "2"
        assert await route.ask() == "3"
        route.turn = 1
        route.begun.clear()
        route.go_on.clear()
        slow = asyncio.create_task(route.ask())
        await route.begun.wait()  # it has read what was true before the order
        route.go_on.set()
        await route.ask("/b", method=method)
        assert await slow == "4"
        assert await route.ask() == "6"

    asyncio.run(main())


@pytest.mark.parametrize(("status", "more"), [(404, False), (503, False), (204, False), (200, True)])
def test_errors_and_streams_are_not_kept(status: int, more: bool) -> None:
    async def main() -> None:
        route = Route(status=status)
        route.more = more
        assert await route.ask() != await route.ask()
        assert route.cache._kept == {}

    asyncio.run(main())


def test_only_what_a_route_gives_away_is_kept_and_only_for_get() -> None:
    async def main() -> None:
        route = Route(keep=None)
        assert [await route.ask(), await route.ask()] == ["1", "2"]
        route = Route()
        assert [await route.ask(), await route.ask(method="HEAD"), await route.ask()] == ["1", "2", "1"]

    asyncio.run(main())


def test_what_depends_on_the_visitor_is_kept_by_name_and_role() -> None:
    async def main() -> None:
        route = Route(keep_for_visitor)
        people: list[tuple[str, Role]] = [("anna", "admin"), ("vera", "viewer"), ("anna", "viewer")]
        for _ in range(2):
            assert [await route.ask(who=Who(*one)) for one in people] == ["1", "2", "3"]
        assert await route.ask(who=Who("anna", "admin", "10.0.0.1")) == "1", "from wherever they ask"
        route = Route()
        assert [await route.ask(who=Who(*one)) for one in people] == ["1", "1", "1"]

    asyncio.run(main())


@pytest.mark.proves("R11")
def test_what_is_asked_differently_each_time_does_not_fill_the_memory() -> None:
    async def main() -> None:
        route = Route()
        for number in range(200):
            await route.ask(query=b"%d" % number)
        assert len(route.cache._kept) == response_cache.MOST
        assert await route.ask(query=b"199") == "200", "the last ones stay"
        route.size = response_cache.MOST_BYTES // 4
        for number in range(10):
            await route.ask("/long", b"%d" % number)
        assert 1 <= len(route.cache._kept) <= 4
        route.size = response_cache.MOST_BYTES
        await route.ask("/longer")
        assert route.cache._kept == {}

    asyncio.run(main())


# --- before the real routers ------------------------------------------------------------------------------------------


def test_a_connector_is_listed_as_soon_as_it_is_made_whoever_made_it() -> None:
    topic = PaperTopic()
    config = {"connector.class": "MirrorSource", "source.cluster.alias": "a", "target.cluster.alias": "b"}
    config |= {f"{end}.cluster.bootstrap.servers": "k:9092" for end in ("source", "target")}
    with asked(PaperService(topic, text=FILE)) as client:
        before = client.get("/connectors").json()
        assert client.get("/connectors").json() == before
        assert client.post("/connectors", json={"name": "mine", "config": config}).status_code == 201
        assert client.get("/connectors").json() == [*before, "mine"]
        # Somebody else wrote it, and the links topic brings it.
        topic.plant(*topic.group_state.config_record("theirs", {**config, "name": "theirs"}))
        assert client.get("/connectors").json() == [*before, "mine", "theirs"]
        assert client.delete("/connectors/mine").status_code == 204
        assert client.get("/connectors").json() == [*before, "theirs"]
        assert client.head("/connectors").content == b""
        assert client.get("/connectors", params={"expand": "status"}).json().keys() == {*before, "theirs"}


def test_the_page_is_kept_for_its_visitor_and_nobody_else_gets_anything(tmp_path: Path) -> None:
    users = tmp_path / "users"
    for name, role in (("vera", "viewer"), ("anna", "admin")):
        save_user(users, with_password(name, role, f"{name}'s long password"))
    backend = PaperBackend()
    service = PaperService(
        PaperTopic(),
        http=HttpSettings(users_file=users),
        app_state=lambda audit: AppState.of(backend, audit, look_seconds=60),
    )
    with asked(service) as client:

        def page(name: str) -> str:
            login = base64.b64encode(f"{name}:{name}'s long password".encode()).decode()
            found = client.get("/ui/", headers={"authorization": f"Basic {login}"})
            assert found.headers["cache-control"] == "no-store"
            return str(found.text)

        for _ in range(2):
            assert "You are vera (viewer)" in page("vera")
            assert "You are anna (admin)" in page("anna")
            for path in ("/ui/", "/v1/links", "/metrics", "/connectors"):
                assert client.get(path).status_code == 401


def test_what_an_action_says_is_on_the_page_at_once() -> None:
    backend = PaperBackend()
    service = PaperService(PaperTopic(), app_state=lambda audit: AppState.of(backend, audit, look_seconds=60))
    with asked(service) as client:
        assert "examination" not in client.get("/ui/").text
        order = client.post("/v1/links/east-%3Ewest/examinations", headers={"Idempotency-Key": "12345678"})
        assert order.status_code == 202
        assert "examination" in client.get("/ui/").text
        wait_until(
            lambda: client.get(f"/v1/operations/{order.json()['id']}").json()["status"],
            lambda status: status == "done",
            within_s=20,
            what="the operation",
        )
        assert "checks failed" in client.get("/ui/").text
