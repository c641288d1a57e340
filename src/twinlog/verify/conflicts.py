"""Searching both logs of a pair for keys that were written on both sides. Plans on the driver, joins on Spark."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import ClusterError, SelectionEmpty
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.model.verify.conflicts import ConflictingKey, ConflictReport, TopicConflicts, Written, shown_key
from twinlog.model.wanted import Wanted
from twinlog.spark.formats import register_format
from twinlog.spark.session import Session, session_for
from twinlog.spark.work import TABLES
from twinlog.verify.key_writes import WRITE_SCHEMA, Stretch, WriteReader
from twinlog.verify.plan import known_writers

_ALL: Final = Wanted("topics")


@dataclass(frozen=True)
class ConflictWish:
    """What a search for conflicts reads: topics, window, time."""

    wanted: Wanted = _ALL
    window_ms: int = 10_000
    since_ms: int = 0  # records of this time and later
    listed: int = 20
    show_keys: bool = False


@dataclass
class ConflictSearch:
    """Both sides of one link."""

    link: LinkSettings
    wish: ConflictWish

    def run(self, session: Session, slots: int) -> ConflictReport:
        """Search. Raises SelectionEmpty where no topic has the same name on both sides."""
        began, now = time.monotonic(), SYSTEM_CLOCK.now_ms()
        link, wish = self.link, self.wish
        report = ConflictReport(link.name, (link.source, link.target), wish.since_ms, now, wish.window_ms)
        stretches = self._stretches(report)
        if stretches:
            session = session_for(session, TABLES, spark__sql__shuffle__partitions=str(slots))
            reader = WriteReader([stretches[at::slots] for at in range(min(slots, len(stretches)))])
            register_format(session, "twinlog_key_writes", WRITE_SCHEMA, reader=lambda: reader)
            self._judge(session.read.format("twinlog_key_writes").load(), report)
        report.took_s = time.monotonic() - began
        return report

    def _stretches(self, report: ConflictReport) -> list[Stretch]:
        clients, sides = self.link.clients, report.sides
        admins = {sides[0]: ClusterAdmin(clients.source_admin), sides[1]: ClusterAdmin(clients.target_admin)}
        consumers = {sides[0]: clients.source_consumer, sides[1]: clients.target_consumer}
        names = {side: {*filter(self._is_data, admin.list_topics())} for side, admin in admins.items()}
        both = names[sides[0]] & names[sides[1]]
        report.one_side = sorted(filter(self.wish.wanted, (names[sides[0]] ^ names[sides[1]])))
        if not both:
            problem = f"topics with the same name on {sides[0]} and {sides[1]}"
            raise SelectionEmpty(str(self.wish.wanted), problem, "each side has topics of its own only")
        chosen = self.wish.wanted.among(both, f"the topics that {sides[0]} and {sides[1]} have in common")
        stretches: list[Stretch] = []
        for side, admin in admins.items():
            stretches += self._of_side(side, admin, consumers[side], chosen, report)
        return stretches

    def _is_data(self, topic: str) -> bool:
        naming = self.link.naming
        return not naming.is_internal(topic) and not naming.is_heartbeats(topic) and self.link.topics.matches(topic)

    def _of_side(
        self, side: str, admin: ClusterAdmin, client: ClientSettings, topics: list[str], report: ConflictReport
    ) -> list[Stretch]:
        links = frozenset(note.producer_id for note in known_writers(admin, client))
        facts = admin.describe_topics(topics)
        report.troubles += [f"{side}: {answer}" for answer in facts.values() if isinstance(answer, ClusterError)]
        known = {name: answer for name, answer in facts.items() if isinstance(answer, TopicFacts)}
        places = [TopicPartition(name, number) for name, topic in known.items() for number in range(topic.partitions)]
        ends = admin.fetch_end_offsets(places, committed=True)
        firsts = admin.fetch_offsets_at(places, self.wish.since_ms)
        stretches = []
        for place in places:
            first, after = firsts[place], ends[place]
            if isinstance(first, ClusterError) or isinstance(after, ClusterError):
                report.troubles.append(f"{side}: {place}: {first if isinstance(first, ClusterError) else after}")
            elif first < after:
                stretches.append(Stretch(side, client, links, place, known[place.topic].topic_id, first, after))
        return stretches

    def _judge(self, rows: Any, report: ConflictReport) -> None:
        from pyspark.sql import Window  # noqa: PLC0415  only where a session is
        from pyspark.sql import functions as sql  # noqa: PLC0415

        # The first offset of a time is asked for, and older records may follow it: their time is the producer's.
        rows = rows.filter(sql.col("trouble").isNotNull() | (sql.col("ms") >= self.wish.since_ms)).cache()
        report.troubles += [row.trouble for row in rows.filter("trouble is not null").select("trouble").collect()]
        order = Window.partitionBy("topic", "hash").orderBy("ms", "side", "part", "at")
        place = sql.struct("side", "part", "at", "ms")
        gap = sql.col("ms") - sql.col("before.ms")
        keyed = rows.filter("hash is not null").withColumn("before", sql.lag(place).over(order))
        clash = (sql.col("before.side") != sql.col("side")) & (gap <= report.window_ms)
        first, second = report.sides
        keys = (
            keyed.withColumn("clash", sql.when(clash, sql.struct(gap.alias("gap"), "before", place.alias("after"))))
            .groupBy("topic", "hash")
            .agg(
                sql.sum(sql.when(sql.col("side") == first, 1).otherwise(0)).alias("first"),
                sql.sum(sql.when(sql.col("side") == second, 1).otherwise(0)).alias("second"),
                sql.count("clash").alias("clashes"),
                sql.min("clash").alias("closest"),
                sql.first("label").alias("label"),
                sql.first("whole").alias("whole"),
            )
            .cache()
        )
        report.topics = [*map(_topic(report.sides, rows), _summaries(keys, sql))]
        worst = keys.filter("clashes > 0").orderBy(sql.desc("clashes"), "topic", "hash").limit(self.wish.listed)
        report.keys = [self._key(row, report.sides) for row in worst.collect()]
        keys.unpersist()
        rows.unpersist()

    def _key(self, row: Any, sides: tuple[str, str]) -> ConflictingKey:
        shown = shown_key(bytes(row.label), row.whole) if self.wish.show_keys else f"hash {bytes(row.hash).hex()[:16]}"
        earlier, later = (Written(w.side, w.part, w.at, w.ms) for w in (row.closest.before, row.closest.after))
        counts = dict(zip(sides, (row.first, row.second), strict=True))
        return ConflictingKey(row.topic, shown, row.clashes, counts, row.closest.gap, earlier, later)


def _summaries(keys: Any, sql: Any) -> list[Any]:
    both = sql.when((sql.col("first") > 0) & (sql.col("second") > 0), 1).otherwise(0)
    rows: list[Any] = (
        keys.groupBy("topic")
        .agg(
            sql.sum("first").alias("first"),
            sql.sum("second").alias("second"),
            sql.count("*").alias("keys"),
            sql.sum(both).alias("both"),
            sql.sum(sql.when(sql.col("clashes") > 0, 1).otherwise(0)).alias("conflicting"),
            sql.sum("clashes").alias("clashes"),
        )
        .orderBy("topic")
        .collect()
    )
    return rows


def _topic(sides: tuple[str, str], rows: Any) -> Any:
    unkeyed = rows.filter("hash is null and trouble is null").groupBy("topic").count().collect()
    without = {row.topic: row["count"] for row in unkeyed}

    def of(row: Any) -> TopicConflicts:
        records = dict(zip(sides, (row.first, row.second), strict=True))
        none = without.get(row.topic, 0)
        return TopicConflicts(row.topic, records, none, row.keys, row.both, row.conflicting, row.clashes)

    return of
