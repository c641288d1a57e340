"""A password that is changed while the link runs: it goes on with the new one, and says so when it is a wrong one."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.kit.ends import Ends
from tests.kit.threads import ThreadedQuery
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.config.watch import SettingsWatch
from twinlog.engine.engine import LinkEngine
from twinlog.engine.fleet import Fleet
from twinlog.kafka.client_options import client_options
from twinlog.local.cluster import LocalCluster
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


class ByPassword(Ends):
    """A link whose source is entered by SCRAM with a password in a file of its own; the test itself enters by PLAIN."""

    def __init__(self, source: LocalCluster, target: LocalCluster, secret: Path) -> None:
        self.secret = secret
        super().__init__(source, target)

    @property
    def properties(self) -> str:
        return self._entered("PLAIN", self.source_cluster.password("admin"))

    def _entered(self, way: str, password: str) -> str:
        text = super().properties
        login = self.source_cluster.client_properties("admin")["sasl.jaas.config"]
        mine = login.replace(self.source_cluster.password("admin"), password)
        if way == "PLAIN":
            text = text.replace("SCRAM-SHA-512", "PLAIN")
            mine = mine.replace("scram.Scram", "plain.Plain")
        return text.replace(login, mine)

    def write_file(self, folder: Path) -> Path:
        path = folder / f"{self.alias}.properties"
        path.write_text(self._entered("SCRAM-SHA-512", f"${{file:{self.secret}:admin}}"), encoding="latin-1")
        return path

    def tell(self, password: str) -> None:
        """Put a password into the file that the settings refer to, as a secret store does."""
        new = self.secret.with_suffix(".new")
        new.write_text(f"admin = {password}\n", encoding="latin-1")
        new.replace(self.secret)

    def rotate(self, password: str) -> None:
        """Let the source take another password from now on."""
        admin = AdminClient({key: str(value) for key, value in client_options(self.link.clients.source_admin).items()})
        change = UserScramCredentialUpsertion(
            "admin", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192), password.encode()
        )
        admin.alter_user_scram_credentials([change])["admin"].result(30)


async def run_by_file(ends: ByPassword, folder: Path, story: Callable[[Fleet], Awaitable[None]]) -> None:
    """Run the link of the file as the service does, while the story is told: what changes there comes into force."""

    def engine(link: LinkSettings) -> LinkEngine:
        both = LinkEnds.of(link)
        topics = LinkTopics(link, both.source, both.target)
        return LinkEngine(link, topics, lambda run, _: ThreadedQuery(run), folder, 2)

    watch = SettingsWatch(ends.write_file(folder))
    fleet = Fleet(engine)
    running = asyncio.create_task(fleet.run([engine(link) for link in watch.load().links]))

    async def follow() -> None:
        while True:
            if watch.changed():
                await fleet.apply(watch.load().links)
            await asyncio.sleep(0.2)

    following = asyncio.create_task(follow())
    try:
        await story(fleet)
    finally:
        following.cancel()
        fleet.stop()
        await running


@pytest.mark.proves("R1", "R2", "R9", "R12", "R14")
def test_a_rotated_password_is_taken_up_and_a_wrong_one_is_told_and_mended(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster, tmp_path: Path
) -> None:
    secure = make_cluster("secure", secure=True)
    ends = ByPassword(secure, target_cluster, tmp_path / "secrets.properties")
    old, new, wrong = secure.password("admin"), secrets.token_hex(12), secrets.token_hex(12)
    ends.tell(old)
    topic = ends.create("orders", 2)
    load = ends.load(topic, 2)
    load.produce(100)
    said: list[str] = []

    async def story(fleet: Fleet) -> None:
        await asyncio.to_thread(ends.await_copied, topic)
        before = fleet.jobs[0]
        ends.rotate(new)
        ends.tell(new)
        await until(lambda: fleet.jobs[0] is not before and fleet.jobs[0].phase == "running", "the new password")
        # Connections of before would do for ever: the source hangs up on all of them.
        await asyncio.to_thread(secure.kill)
        await asyncio.to_thread(secure.start)
        load.produce(100)
        await asyncio.to_thread(ends.await_copied, topic)

        ends.tell(wrong)
        await until(lambda: "access denied" in (fleet.jobs[0].trouble or ""), "a refused login")
        load.produce(100)
        # Who asks from outside is told as well.
        status = await asyncio.to_thread(
            ends.await_status, lambda seen: seen.engine is not None and seen.engine.trouble is not None, "the cause"
        )
        assert status.engine is not None
        said.extend([str(fleet.jobs[0].trouble), str(status.engine.trouble), repr(fleet.jobs[0].spec)])
        ends.tell(new)
        await asyncio.to_thread(ends.await_copied, topic)

    asyncio.run(run_by_file(ends, tmp_path, story))
    assert ends.check(topic).target_records == 300
    assert all("access denied" in one for one in said[:2])
    for password in (old, new, wrong):
        assert password not in "".join(said)


async def until(look: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_until, look, bool, within_s=60, what=what)
