"""Following a settings file, and replacing only the engines that it concerns."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.keymaterial import KeyMaterial
from tests.kit.waiting import rounds_of_the_loop, until

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.config.watch import SettingsWatch
from twinlog.engine.fleet import Fleet, Job, growing_pause
from twinlog.engine.spec_changes import Spec, diff_specs
from twinlog.errors import EngineBroke, EngineDied, SettingsInvalid, UsageError

FILE = "clusters = A, B, C\nbootstrap.servers = k:9092\nA->B.enabled = true\n"


def links(more: str = "", text: str = FILE) -> tuple[LinkSettings, ...]:
    return resolve((text + more).encode(), "f", (), {}).links


def settled(watch: SettingsWatch) -> bool:
    """What the second of two looks at the same files says."""
    watch.changed()
    return watch.changed()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "links.properties"
    path.write_text(FILE)
    return path


def test_a_changed_file_is_noticed_once_and_only_when_it_is_quiet(file: Path):
    watch = SettingsWatch(file)
    watch.load()
    assert not settled(watch)
    file.write_text(FILE + "topics = a")
    assert not watch.changed(), "it may still be half of a file"
    file.write_text(FILE + "topics = a.*")
    assert not watch.changed()
    assert watch.changed()
    assert watch.load().links[0].topics.include == ("a.*",)
    assert not settled(watch)
    file.write_text(FILE + "topics = a.*")
    assert not settled(watch), "the same bytes are no change"


def test_a_wrong_file_is_refused_once_and_its_correction_noticed(file: Path):
    watch = SettingsWatch(file)
    watch.load()
    file.write_text(FILE + "tasks.max = many")
    assert settled(watch)
    with pytest.raises(SettingsInvalid, match="many is not valid"):
        watch.load()
    assert not settled(watch)
    file.unlink()
    assert settled(watch)
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        watch.load()
    assert not settled(watch)
    file.write_text(FILE)
    assert settled(watch)
    assert len(watch.load().links) == 1


@pytest.mark.proves("R12")
def test_a_renewed_certificate_and_a_rotated_password_are_changes_that_tell_no_secret(file: Path, tmp_path: Path):
    store, secrets = tmp_path / "client.p12", tmp_path / "secrets.properties"
    store.write_bytes(KeyMaterial.make().keystore("first-secret"))
    secrets.write_text("store = first-secret")
    tls = f"B.security.protocol = SSL\nB.ssl.keystore.type = PKCS12\nB.ssl.keystore.location = {store}\n"
    file.write_text(f"{FILE}{tls}B.ssl.keystore.password = ${{file:{secrets}:store}}\n")
    watch = SettingsWatch(file)
    before = watch.load().links
    store.write_bytes(KeyMaterial.make().keystore("first-secret"))
    assert settled(watch)
    (change,) = diff_specs(before, watch.load().links)
    assert "target_producer.security.client_chain_pem" in str(change)
    store.write_bytes(KeyMaterial.make().keystore("second-secret"))
    assert settled(watch)
    with pytest.raises(SettingsInvalid) as refused:
        watch.load()
    secrets.write_text("store = second-secret")
    assert settled(watch), "the password's file is watched although the last reading failed"
    watch.load()
    assert "secret" not in str(change).replace("secrets.properties", "")
    assert "first-secret" not in str(refused.value)


def test_links_that_are_equal_are_not_among_the_changes():
    before = links("A->C.enabled = true\nB->C.enabled = true")
    after = links("A->C.enabled = true\nC->A.enabled = true\nA->C.topics = x")
    assert [str(change) for change in diff_specs(before, after)] == [
        "A->C: changed in topics",
        "B->C: removed, or no longer enabled",
        "C->A: added",
    ]
    assert diff_specs(before, before) == ()


class Actor:
    """Plays an engine: runs until it is stopped, and takes a moment to do so."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tasks = 1
        self.phase = "starting"
        self.trouble: str | None = None
        self.failure: Exception | None = None
        self.take_over = False
        self._asked = asyncio.Event()

    async def run(self) -> None:
        self.phase = "running"
        await self._asked.wait()
        await asyncio.sleep(0)
        self.phase = "stopped"
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self._asked.set()

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self.stop()


def tasks_of(job: Job) -> int | None:
    assert isinstance(job.spec, LinkSettings)
    return job.spec.reading.tasks_max


@dataclass(frozen=True)
class Pump:
    """What a job runs that is no link."""

    name: str
    litres: int


def test_a_fleet_runs_any_job_and_replaces_it_when_its_spec_changes() -> None:
    async def story() -> None:
        (link,) = links()
        fleet = Fleet(Actor)
        running = asyncio.create_task(fleet.run([Actor(link), Actor(Pump("cellar", 3))]))
        await asyncio.sleep(0)
        mirror, pump = fleet.jobs
        (change,) = await fleet.apply([link, Pump("cellar", 4)])
        assert str(change) == "cellar: changed"
        assert fleet.jobs[0] is mirror
        assert (pump.phase, fleet.jobs[1].spec) == ("stopped", Pump("cellar", 4))
        await fleet.apply([link])
        assert fleet.jobs == [mirror]
        fleet.stop()
        await running

    asyncio.run(story())


def made(fleet: Fleet) -> list[Actor]:
    return [engine for engine in fleet.jobs if isinstance(engine, Actor)]


def test_a_new_file_replaces_only_what_it_changes():
    async def story() -> None:
        fleet = Fleet(Actor)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        first, second = fleet.jobs
        changes = await fleet.apply(links("A->C.enabled = true\nB->C.enabled = true\nA->B.tasks.max = 3"))
        assert [change.name for change in changes] == ["A->B", "B->C"]
        now = {engine.spec.name: engine for engine in fleet.jobs}
        assert now["A->C"] is second
        assert (first.phase, tasks_of(now["A->B"])) == ("stopped", 3)
        await fleet.apply(links("A->C.enabled = true", FILE.replace("A->B.enabled = true", "")))
        assert fleet.jobs == [second]
        # The only engine is replaced: for a moment none runs, and that is not the end.
        await fleet.apply(links())
        await asyncio.sleep(0)
        assert not running.done()
        fleet.stop()
        await running
        assert [engine.phase for engine in fleet.jobs] == ["stopped"]

    asyncio.run(story())


def test_a_link_that_another_engine_has_is_not_taken_back():
    async def story() -> None:
        fleet = Fleet(Actor)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        lost = made(fleet)[0]
        lost.stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        lost.phase = "superseded"
        await fleet.apply(links("A->C.enabled = true\ntasks.max = 3"))
        assert fleet.jobs[0] is lost
        assert tasks_of(fleet.jobs[1]) == 3
        fleet.stop()
        await running

    asyncio.run(story())


def test_what_ends_an_engine_for_good_is_raised_when_all_have_ended():
    async def story() -> None:
        fleet = Fleet(Actor)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        bad, good = made(fleet)
        bad.fail(UsageError("gone"))
        await until(lambda: fleet.failure("A->B") is not None)
        await rounds_of_the_loop()
        assert not running.done()
        assert "not started again by itself" in str(fleet.failure("A->B"))
        assert made(fleet)[0] is bad
        good.stop()
        with pytest.raises(UsageError, match="gone"):
            await running

    asyncio.run(story())


@pytest.mark.proves("R8", "R9", "R14")
def test_a_link_that_fails_is_started_again_by_itself_and_the_others_are_not_touched(caplog: pytest.LogCaptureFixture):
    failures: list[int] = []
    built: list[Actor] = []

    def make(link: LinkSettings) -> Actor:
        built.append(Actor(link))
        if len(built) == 2:
            raise OSError("its certificate is being renewed")
        return built[-1]

    def pause(in_a_row: int) -> float:
        failures.append(in_a_row)
        return 0.001 if failures != [1, 2, 3, 4] else 3600.0

    async def story() -> None:
        fleet = Fleet(make, pause=pause)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        first, other = made(fleet)
        first.fail(ValueError("a mistake"))
        await until(lambda: len(built) == 1 and built[0].phase == "running")
        assert fleet.failure("A->B") is None
        built[0].fail(EngineBroke("A->B", "another"))
        await until(lambda: len(built) == 3 and built[2].phase == "running")
        built[2].fail(ValueError())
        await until(lambda: len(failures) == 4)
        assert str(fleet.failure("A->B")).startswith("ValueError; it is started again at ")
        await fleet.restart("A->B")
        await until(lambda: len(built) == 4 and built[3].phase == "running")
        assert fleet.failure("A->B") is None, "an order does not wait"
        assert other in fleet.jobs
        assert other.phase == "running"
        built[3].fail(ValueError("last"))
        await until(lambda: len(failures) == 5)
        assert failures == [1, 2, 3, 4, 1], "in a row, until somebody starts it"
        fleet.stop()
        await running
        assert len(built) == 4, "who stops starts nothing again"

    asyncio.run(story())
    told = [line for line in caplog.messages if "it is started again at" in line]
    assert [why in line for why, line in zip(("a mistake", "another", "certificate"), told, strict=False)] == [True] * 3


@given(st.integers(1, 10_000))
def test_pauses_grow_and_are_bounded(failures: int):
    assert 1 <= growing_pause(failures) <= growing_pause(failures + 1) <= 60


def test_when_one_engine_cannot_be_built_all_stay_as_they_are():
    def make(link: LinkSettings) -> Actor:
        if link.reading.tasks_max == 3:
            raise ValueError("no such engine")
        return Actor(link)

    async def story() -> None:
        fleet = Fleet(make)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        before = fleet.jobs
        with pytest.raises(ValueError, match="no such engine"):
            await fleet.apply(links("A->B.topics = x\nA->C.enabled = true\nA->C.tasks.max = 3"))
        assert fleet.jobs == before
        await rounds_of_the_loop()
        assert [engine.phase for engine in before] == ["running", "running"]
        await fleet.apply(links("A->C.enabled = true\nA->C.topics = x"))
        fleet.stop()
        await running

    asyncio.run(story())


def test_stopping_before_the_start_starts_nothing():
    async def story() -> None:
        fleet = Fleet(Actor)
        fleet.stop()
        await fleet.run([Actor(link) for link in links()])
        assert fleet.jobs == []

    asyncio.run(story())


def test_a_fleet_that_stays_waits_for_links_and_begins_one_anew():
    async def story() -> None:
        fleet = Fleet(Actor, stays=True)
        running = asyncio.create_task(fleet.run([]))
        await asyncio.sleep(0)
        await fleet.apply(links())
        await asyncio.sleep(0)
        (first,) = made(fleet)
        await fleet.restart("A->B")
        await fleet.restart("no->where")
        await asyncio.sleep(0)
        (second,) = made(fleet)
        assert (first.phase, second.phase) == ("stopped", "running")
        await fleet.apply(())
        await rounds_of_the_loop()
        assert not running.done(), "links may come again"
        fleet.stop()
        await running

    asyncio.run(story())


def test_a_fleet_that_stays_ends_when_spark_is_gone():
    async def story() -> None:
        fleet = Fleet(Actor, stays=True)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links("A->C.enabled = true")]))
        await asyncio.sleep(0)
        for actor, failure in zip(made(fleet), (ValueError("what it led to"), EngineDied("killed")), strict=True):
            assert not running.done()
            actor.fail(failure)
            await rounds_of_the_loop()
        with pytest.raises(EngineDied, match="killed"):
            await running

    asyncio.run(story())


@pytest.mark.proves("R14")
def test_a_fleet_that_stays_goes_on_with_a_link_that_can_never_start():
    async def story() -> None:
        fleet = Fleet(Actor, stays=True)
        running = asyncio.create_task(fleet.run([Actor(link) for link in links()]))
        await asyncio.sleep(0)
        made(fleet)[0].fail(UsageError("A->B: it cannot log in"))
        await until(lambda: fleet.failure("A->B") is not None)
        await rounds_of_the_loop()
        assert not running.done(), "somebody must be there to be asked, and to take the correction"
        assert str(fleet.failure("A->B")).startswith("A->B: it cannot log in; it is not started again by itself")
        await fleet.apply(links("topics = x"))
        await asyncio.sleep(0)
        assert fleet.failure("A->B") is None
        fleet.stop()
        await running

    asyncio.run(story())
