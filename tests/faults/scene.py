"""One fault from its first record to the judgement.

create topics ─ load ─ both mirrors flow ─ INJECT … END ─ all flows again ─ load ends ─ all is copied ─ judge
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tests.faults.eye import Answer, Eye
from tests.faults.judging import compare, in_short
from tests.faults.machine import CoresUsed
from tests.faults.mirrors import Mirror, MirrorMaker, Twinlog, WanEnds
from tests.faults.naming import Thing, first_naming, patterns
from tests.faults.packets import Network
from tests.faults.row import Cost, Row, missed_goals
from tests.faults.scenario import Scenario
from tests.faults.secure import SecureEnds
from tests.faults.site import Site
from tests.faults.stage import Stage
from tests.faults.steady import Steady
from tests.faults.witness import Place, Witness
from tests.kit.engine import twinlog
from tests.kit.load import Load
from tests.kit.records import Shape
from tests.kit.verdict import Kind, Verdict

from twinlog.kafka.admin import TopicOrder

T = TypeVar("T")

_WARM_S = 240.0
_PEER_WARM_S = 90.0
_PEER_LATER_S = 30.0
_QUIET_S = 45.0
_HEALTHY_S = 40.0
_RECORDS_BEFORE = 60
_RECORDS_AFTER = 60
_STEP_S = 0.1


class NotReached(Exception):
    """A condition that a scenario waits for did not come true in its time."""


class Scene:
    """What a scenario's play can see and do."""

    def __init__(self, stage: Stage, scenario: Scenario, number: int) -> None:
        self.stage, self.scenario = stage, scenario
        self.source: Site = stage.source
        self.target: Site = stage.target
        self.network: Network = stage.network
        self.notes: list[str] = []
        self.missed: list[str] = []
        """Goals of this fault alone that were missed."""
        self.exempt: set[Place] = set()
        """Partitions that stand still by design until an operator decides; they are judged by `judge` alone."""
        self.judge: Callable[[Scene, Mirror], Verdict] = compare
        self._effects: list[str] = []
        self._things: dict[str, Thing] = {}
        self._injected: tuple[float, float] | None = None
        self._healed: float | None = None
        self._goal: dict[Place, int] = {}
        self._began = time.monotonic()
        self._used = CoresUsed.now()
        self.ends: WanEnds
        self.twinlog: Twinlog
        self.peer: MirrorMaker | None
        self.eye: Eye
        self.ends, self.twinlog, self.peer, self.eye = stage.mirrors(scenario.settings, peer=scenario.peer)
        self.mark = f"f{number}"
        self._create_copies()
        self.topics = {name: self.ends.create(self.short(name), one.partitions, **dict(one.configs))
                       for name, one in scenario.topics.items()}  # fmt: skip
        self.loads = {name: self.load(name, seed) for seed, name in enumerate(self.topics, 1)}
        partitions = {self.topics[name]: one.partitions for name, one in scenario.topics.items()}
        self.witnesses = {
            mirror.name: Witness(
                self.ends.target_logs, {topic: mirror.remote(topic) for topic in partitions}, partitions
            )
            for mirror in self.mirrors
        }

    # --- what a play uses ---------------------------------------------------------------------------------------------

    @property
    def mirrors(self) -> list[Mirror]:
        return [self.twinlog] if self.peer is None else [self.twinlog, self.peer]

    @property
    def orders(self) -> str:
        """The topic that a fault is aimed at."""
        return self.topics["orders"]

    def short(self, name: str) -> str:
        """A topic of this scene as its ends call it."""
        return f"{self.mark}.{name}"

    def burst(self) -> None:
        """About 15 MB at once, beside the load."""
        servers, load = self.source.bootstrap_servers, self.loads["orders"]
        Load(servers, load.topic, load.partitions, 99, max_record_bytes=50_000).produce(600)

    def add_topic(self, name: str, topic: str, partitions: int) -> None:
        """Load one more topic, which exists by now, and expect its copy."""
        self.topics[name] = topic
        self.loads[name] = Steady(self.source.bootstrap_servers, topic, partitions, 50 + len(self.loads))
        self.loads[name].start()
        for mirror in self.mirrors:
            self.witnesses[mirror.name].add_topic(topic, mirror.remote(topic), partitions)

    def restart_twinlog(self) -> None:
        """End the engine, start another one, and wait until it copies."""
        self.twinlog.kill()
        self.twinlog.start()
        self.await_copying()

    def await_copying(self) -> None:
        """Wait until an engine that was started copies."""
        wanted = self.arrived() + 50 * len(self.loads)
        self.await_true(lambda: self.arrived() > wanted, "Twinlog copies again", _WARM_S)

    def await_started(self) -> None:
        """Wait until an engine that was started copies; the time until then is not the fault's."""
        self.twinlog.engine.await_phase("running", _WARM_S)
        self.await_copying()
        self.injected()

    def arrived(self) -> int:
        """How many records Twinlog has brought, as the numbers that they carry tell."""
        return sum(self.witnesses[Twinlog.name].reached().values())

    def await_caught_up(self, name: str) -> None:
        """Wait until both mirrors have copied all that is acknowledged; the load of the topic stands still."""
        load = self.loads[name]
        wanted = {(load.topic, partition): number for partition, number in load.last_numbers().items()}

        def done() -> bool:
            seen = [witness.reached() for witness in self.witnesses.values()]
            return all(one.get(place, -1) >= number for one in seen for place, number in wanted.items())

        self.await_true(done, f"all of {name} is copied", 60)

    @property
    def secure(self) -> SecureEnds:
        """The ends, of sites that ask who comes."""
        assert isinstance(self.ends, SecureEnds)
        return self.ends

    def renew_load(self, name: str = "orders", *, at_once: int = 0) -> None:
        """Go on with a new producer, for topics whose log was cut or made anew; numbers go on, too."""
        old = self.loads[name]
        refused = old.stop(5)
        if refused:
            self.notes.append(f"{refused} records of the producer before the fault were not acknowledged")
        new = self.load(name, old.seed + 100)
        new.grow(old.partitions)
        new._next = list(old._next)
        self.loads[name] = new
        new.produce_quickly(at_once)
        new.start()

    @staticmethod
    def take_over_option() -> list[str]:
        """The option by which `twinlog run` takes a link from a living engine, where it asks for one."""
        return ["--take-over"] if "--take-over" in twinlog("run", "--help").stdout else []

    def faulted(self, name: str = "orders") -> dict[int, str]:
        """The partitions of a topic that status shows as faulted now, with the code."""
        answers = self.eye.answers()
        if not answers:
            return {}
        facts, topic = answers[-1].facts, self.topics[name]
        found = {
            int(part["partition"]): str(part["fault"]["code"])
            for part in facts.get("partition_list", [])
            if part.get("topic") == topic and part.get("fault")
        }
        whole = [fault["code"] for fault in facts.get("fault_list", []) if fault.get("facts", {}).get("topic") == topic]
        if whole and not found:
            found = dict.fromkeys(range(self.loads[name].partitions), whole[0])
        return found

    def load(self, name: str, seed: int) -> Steady:
        partitions = self.scenario.topics[name].partitions
        servers, client = self.ends.source_logs
        return Steady(servers, self.topics[name], partitions, seed, shape=Shape.VARIED, client=client)

    @contextmanager
    def fault(self, **things: Thing) -> Iterator[None]:
        """The time from the injection to the end of the fault. `things` are what status must call by name."""
        self._things |= things
        for witness in self.witnesses.values():
            witness.start_of_silence()
        self.injected()
        yield
        self.over()

    def injected(self) -> None:
        """From this moment on status has ten seconds: the fault is there."""
        self._injected = (time.time(), time.monotonic())

    def effect(self, seen: object, what: str) -> None:
        """Show that the fault was really there; one without effect proves nothing."""
        if seen:
            self._effects.append(what)
        else:
            self.missed.append(f"the fault had no effect: not seen: {what}")

    def over(self) -> None:
        """The fault has ended, or the operator has done what the fault asked for: from now on everything must flow."""
        self._goal = {
            (load.topic, partition): number
            for load in self.loads.values()
            for partition, number in load.next_numbers().items()
        }
        self._healed = time.monotonic()

    def stood_still(self, seconds: float, partitions: Sequence[int] | None = None) -> None:
        """Show that no record of the topic that the fault is aimed at arrived for so long."""
        silences = self.witnesses[Twinlog.name].longest_silence()
        aimed = range(self.loads["orders"].partitions) if partitions is None else partitions
        shortest = min(silences[self.orders, number] for number in aimed)
        self.effect(shortest > seconds, f"{len(aimed)} partitions got no record for more than {seconds:.0f} s")

    def hold(self, seconds: float) -> None:
        """Let the fault last."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._tick()

    def await_true(self, look: Callable[[], T], what: str, within_s: float = 60.0) -> T:
        """Wait for a condition."""
        deadline = time.monotonic() + within_s
        while True:
            seen = look()
            if seen:
                return seen
            if time.monotonic() > deadline:
                raise NotReached(f"{what}: not within {within_s:.0f} s")
            self._tick()

    def await_named(self, within_s: float = 30.0) -> None:
        """Wait until status tells the cause; go on without when it does not."""
        try:
            self.await_true(self._naming, "the cause in status", within_s)
        except NotReached as error:
            self.notes.append(str(error))

    # --- the course of a scene ----------------------------------------------------------------------------------------

    def run(self, commit: str) -> Row:
        """Play, measure and judge."""
        try:
            for load in self.loads.values():
                load.start()
            self._warm_up()
            assert self.scenario.play is not None
            self.scenario.play(self)
            assert self._injected is not None, "the play injects nothing"
            assert self._effects or self.missed, "the play does not show that its fault had an effect"
            goes_on = self._await_flow()
            still = {name: witness.longest_silence() for name, witness in self.witnesses.items()}
            refused = sum(load.stop() for load in self.loads.values())
            if refused:
                self.notes.append(f"{refused} records were not acknowledged by the source and do not count")
            self._await_quiet(goes_on)
            end_state = None if self.scenario.stays else self._await_healthy()
            costs = {mirror.name: self._cost(mirror, goes_on, still) for mirror in self.mirrors}
            return self._row(commit, costs, end_state)
        finally:
            for load in self.loads.values():
                load.stop(0.1)
            for witness in self.witnesses.values():
                witness.close()

    def _create_copies(self) -> None:
        """Make copies that are wanted in a form of their own before any mirror does."""
        for name, one in self.scenario.topics.items():
            if one.copy_factor is not None:
                topic = self.ends.name(self.short(name))
                orders = [TopicOrder(m.remote(topic), one.partitions, one.copy_factor, {}) for m in self.mirrors]
                refused = [str(error) for error in self.ends.target.create_topics(orders).values() if error]
                assert not refused, refused

    def _tick(self) -> None:
        for mirror in self.mirrors:
            mirror.supervise()
        time.sleep(_STEP_S)

    def _warm_up(self) -> None:
        def flows(name: str) -> bool:
            reached = self.witnesses[name].reached()
            return self.witnesses[name].complete and sum(reached.values()) >= _RECORDS_BEFORE

        before = self.twinlog.restarts

        def ours() -> bool:
            if self.twinlog.restarts > before + 2:
                raise NotReached("Twinlog does not stay alive")
            return flows(Twinlog.name)

        try:
            self.await_true(ours, "Twinlog copies", _WARM_S)
        except NotReached as error:
            raise NotReached(f"{error}; its last words: {self.twinlog.last_words()[-600:]}") from error
        if self.peer is not None:
            try:
                self.await_true(lambda: flows(MirrorMaker.name), "MirrorMaker 2 copies", _PEER_WARM_S)
            except NotReached as error:
                self.notes.append(str(error))
                self.witnesses.pop(MirrorMaker.name).close()
                self.peer = None

    def _await_flow(self) -> dict[str, float | None]:
        """When each mirror had brought a record from after the end of the fault into every partition."""
        assert self._healed is not None, "the play never ends its fault"
        flowing: dict[str, float | None] = dict.fromkeys(self.witnesses)
        goal = {place: number for place, number in self._goal.items() if place not in self.exempt}
        limit = self._healed + self.scenario.within_s
        while True:
            now = time.monotonic()
            for name, since in flowing.items():
                reached = self.witnesses[name].reached()
                if since is None and all(reached.get(place, -1) >= number for place, number in goal.items()):
                    flowing[name] = now - self._healed
            ours = flowing[Twinlog.name]
            patience = limit if ours is None else min(limit, self._healed + ours + _PEER_LATER_S)
            if all(since is not None for since in flowing.values()) or now > patience:
                return flowing
            self._tick()

    def _await_quiet(self, goes_on: dict[str, float | None]) -> None:
        """Wait until the mirrors that go on have copied all."""
        last = {
            (load.topic, partition): number
            for load in self.loads.values()
            for partition, number in load.last_numbers().items()
            if (load.topic, partition) not in self.exempt
        }
        deadline = time.monotonic() + _QUIET_S
        for name, since in goes_on.items():
            while since is not None and time.monotonic() < deadline:
                reached = self.witnesses[name].reached()
                if all(reached.get(place, -1) >= number for place, number in last.items()):
                    break
                self._tick()
        # A mirror that writes twice may do so a moment after the last record.
        self.hold(1.5)

    def _await_healthy(self) -> str | None:
        """What status still complains about after all has ended; None when it is content."""
        since = time.time()
        try:
            self.await_true(lambda: any(a.healthy for a in self.eye.answers(since)), "a healthy link", _HEALTHY_S)
        except NotReached:
            answers = self.eye.answers()
            return answers[-1].shown if answers else "nothing"
        return None

    # --- judging ------------------------------------------------------------------------------------------------------

    def _naming(self) -> Answer | None:
        if self._injected is None:
            return None
        names: dict[str, Thing] = {"source": self.ends.alias, "orders": self.orders}
        names |= {"copy": self.twinlog.remote(self.orders), **self._things}
        return first_naming(self.eye.answers(self._injected[0]), patterns(self.scenario.named, names))

    def _cost(self, mirror: Mirror, goes_on: dict[str, float | None], still: dict[str, dict[Place, float]]) -> Cost:
        silences = still[mirror.name]
        beside = [s for (topic, _), s in silences.items() if topic == self.topics.get("beside")]
        rest = [s for place, s in silences.items() if place in self._goal and place not in self.exempt]
        note = "" if goes_on[mirror.name] is not None else "did not go on"
        if isinstance(mirror, MirrorMaker) and note:
            words = [line for line in mirror.last_words().splitlines() if "ERROR" in line or "Exception" in line]
            note += f"; its log: {words[-1]}" if words else ""
        try:
            verdict = self.judge(self, mirror)
        except (AssertionError, KeyError) as error:
            self.notes.append(f"{mirror.name}: the copy cannot be read: {error}")
            return Cost(note=f"the copy cannot be read: {error}")
        if goes_on[mirror.name] is None and verdict.counts[Kind.LOST]:
            # It may still come: records behind the last one that was copied are late, not lost.
            note += f"; {verdict.counts.pop(Kind.LOST)} records were not copied when it was judged"
        if verdict.counts:
            self.notes.append(f"{mirror.name}: {in_short(verdict)}")
        return Cost.of(
            verdict,
            stood_still_s=max(rest, default=None),
            beside_still_s=max(beside, default=None),
            goes_on_s=goes_on[mirror.name],
            note=note,
        )

    def _row(self, commit: str, costs: dict[str, Cost], end_state: str | None) -> Row:
        assert self._injected is not None
        ours = costs[Twinlog.name]
        naming = self._naming()
        named_s = None if naming is None else naming.at - self._injected[0]
        one = self.scenario
        return Row(
            key=one.key,
            family=one.family,
            matrix=list(one.matrix),
            title=one.title,
            done=one.done,
            twinlog=ours,
            peer=costs.get(MirrorMaker.name),
            said=self._said(naming),
            named_s=named_s,
            missed=self.missed
            + self._untrue()
            + missed_goals(ours, named_s=named_s, unnoticed=bool(one.unnoticed), end_state=end_state),
            commit=commit,
            at=time.strftime("%H:%M:%S"),
            took_s=round(time.monotonic() - self._began, 1),
            notes=self.notes,
            effect=self._effects,
            unnoticed=one.unnoticed,
            brokers=len(self.source.brokers),
            others=CoresUsed.now().others_since(self._used),
        )

    def _untrue(self) -> list[str]:
        assert self._injected is not None
        if self.scenario.never is None:
            return []
        pattern = re.compile(self.scenario.never)
        wrong = [answer for answer in self.eye.answers(self._injected[0]) if pattern.search(answer.words)]
        return [f"status said what is not true: {wrong[0].shown}"] if wrong else []

    def _said(self, naming: Answer | None) -> str:
        """The answer that named the cause, or the worst that was said instead."""
        assert self._injected is not None
        if naming is not None:
            return naming.shown
        answers = self.eye.answers(self._injected[0])
        troubled = [answer for answer in answers if not answer.healthy]
        return (troubled or answers)[0].shown if answers else "(no answer)"
