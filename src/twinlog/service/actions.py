"""What commands do to a link, with a Spark session of their own where one is needed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from twinlog.config.pair import Pair
from twinlog.config.settings import LinkSettings
from twinlog.errors import TopicUnknown, UsageError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.switch.events import OnSwitchEvent, ignore_event
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.service.questions import looking
from twinlog.service.spark import spark_when_needed
from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.work import TABLES

if TYPE_CHECKING:
    from twinlog.doctor.advice.knee import Sweep
    from twinlog.drill.run import Drills
    from twinlog.drill.sweep import SweepWish
    from twinlog.engine.accept import Truncation
    from twinlog.ledger.view import LedgerView
    from twinlog.model.ledger.control import Control
    from twinlog.model.verify.conflicts import ConflictReport
    from twinlog.model.verify.report import VerifyReport
    from twinlog.recovery.switching import Switching
    from twinlog.verify.conflicts import ConflictWish
    from twinlog.verify.plan import VerifyWish
    from twinlog.verify.run import OnProgress


def verify_link(
    link: LinkSettings, wish: VerifyWish, spark: SparkPlace, state: Path, on_progress: OnProgress
) -> VerifyReport:
    """Compare both logs of a link on a Spark session of its own; the link may run meanwhile, here or elsewhere."""
    from twinlog.spark.session import stop_session
    from twinlog.verify.plan import Planner
    from twinlog.verify.run import Verification

    on_progress("planning", 0, 0)
    planner = Planner(link, ClusterAdmin(link.clients.source_admin), ClusterAdmin(link.clients.target_admin))
    plan = planner.plan(wish)
    slots = os.cpu_count() or 1
    on_progress("starting Spark", 0, 0)
    session = spark_session(spark, slots, state, TABLES)
    try:
        return Verification(session, planner, slots, on_progress).run(wish, plan)
    finally:
        stop_session(session)


def find_conflicts(link: LinkSettings, wish: ConflictWish, spark: SparkPlace, state: Path) -> ConflictReport:
    """Search both logs for keys that were written on both sides, on a Spark session of its own."""
    from twinlog.spark.session import stop_session
    from twinlog.verify.conflicts import ConflictSearch

    slots = os.cpu_count() or 1
    session = spark_session(spark, slots, state, TABLES)
    try:
        return ConflictSearch(link, wish).run(session, slots)
    finally:
        stop_session(session)


@contextlib.contextmanager
def switching(
    pair: Pair, spark: SparkPlace, folder: Path, state: Path, on_event: OnSwitchEvent = ignore_event
) -> Iterator[Switching]:
    """Switches of a pair of clusters. Spark starts only for a step that copies, and ends with the block."""
    from twinlog.recovery.own_engines import EngineCopier
    from twinlog.recovery.switching import Switching

    with spark_when_needed(spark, state) as starter:
        yield Switching(pair, EngineCopier(starter, state), folder, on_event)


@contextlib.contextmanager
def drills(
    pair: Pair, spark: SparkPlace, reports: Path, state: Path, say: Callable[[str], None] = print
) -> Iterator[Drills]:
    """Rehearsals of a link. Spark starts only for a canary, and ends with the block."""
    from twinlog.drill.canary import Canary
    from twinlog.drill.reports import Reports
    from twinlog.drill.run import Drills
    from twinlog.recovery.own_engines import EngineCopier
    from twinlog.recovery.switching import Switching

    with spark_when_needed(spark, state) as starter:
        switch = Switching(pair, EngineCopier(starter, state), state / "switch")
        canary = Canary(pair, starter, state, say)
        yield Drills(pair, looking(pair.link), switch, canary.run, Reports(reports), say)


def sweep_setting(
    link: LinkSettings, wish: SweepWish, spark: SparkPlace, state: Path, say: Callable[[str], None]
) -> Sweep:
    """Measure a link over values of one setting, with a load of its own, on a Spark session of its own."""
    from twinlog.drill.sweep import Sweeping

    with spark_when_needed(spark, state) as starter:
        return asyncio.run(Sweeping(link, wish, starter, state, say).run())


async def check_forgettable(link: LinkSettings, topic: str) -> str:
    """Return the target topic that a forgotten topic would be copied into.

    Raises UsageError while that exists, and for a topic that is not mirrored.
    """
    from twinlog.engine.forget import forget

    admin = ClusterAdmin(link.clients.target_admin)
    remote = link.naming.remote(link.source, topic)
    there = (await asyncio.to_thread(admin.describe_topics, [remote]))[remote]
    if isinstance(there, TopicFacts):
        raise UsageError(f"{remote}: still exists on {link.target}; delete it first, or its records would be doubled")
    if not isinstance(there, TopicUnknown):
        raise there  # whoever may not see a topic does not know that it is gone
    await forget(link, topic, dry_run=True)
    return remote


async def forget_topic(link: LinkSettings, topic: str) -> None:
    """Let a topic begin anew, once its target topic is gone."""
    from twinlog.engine.forget import forget

    await check_forgettable(link, topic)
    await forget(link, topic)


async def order_control(
    link: LinkSettings, change: Callable[[Control, LedgerView], Control], *, dry_run: bool = False
) -> tuple[Control, Control]:
    """Change an operator's order for a running link; returns the order before and after."""
    from twinlog.engine.ordering import order_control as order

    return await order(link, change, dry_run=dry_run)


async def accept_truncation(link: LinkSettings, topic: str, *, dry_run: bool = False) -> list[Truncation]:
    """Continue a topic with the new history of its source; what the source lost stays on the target."""
    from twinlog.engine.accept import accept_truncation as accept

    return await accept(link, topic, dry_run=dry_run)
