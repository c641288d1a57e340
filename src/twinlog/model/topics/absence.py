"""Mirrored topics that are gone on the source, and when their copies may go too. Pure; for the sync job "deletions".

Deleting a copy is the one thing here that cannot be undone, so every doubt speaks against it. A topic counts as gone
only when the source, asked by name, says that it has no such topic: it answers "denied" where we may not look. It must
stay so while we watch, without a break, for the whole delay. And the source must prove that it is still the cluster we
mirrored: same cluster id, and other mirrored topics there under the topic ids we know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Self, assert_never

from twinlog.model.topics.deletion import DeleteAfter, IgnoreDeletion, ReportDeletion, TopicDeletion

UNWATCHED_MS: Final = 600_000
"""After a longer break nobody knows what happened meanwhile, and the delay begins anew."""
_NOTED_EVERY_MS: Final = 60_000
# More topics gone than left looks like a lost cluster, not like tidying up; below this number it proves nothing.
_SUSPICIOUS: Final = 3


@dataclass(frozen=True)
class Absence:
    """Since when a topic is known to be gone, and until when somebody watched it."""

    since_ms: int
    watched_ms: int

    def body(self) -> dict[str, Any]:
        """As a memo keeps it."""
        return {"since_ms": self.since_ms, "watched_ms": self.watched_ms}

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        return cls(int(body["since_ms"]), int(body["watched_ms"]))


@dataclass(frozen=True)
class SourceView:
    """What the source says about the topics that we mirror, each asked by its name."""

    cluster_id: str
    same: Collection[str]  # there, under the topic id we know
    other: Collection[str]  # there, but created anew
    gone: Collection[str]  # positively not there
    hidden: Mapping[str, str] = field(default_factory=dict)  # no answer to that question, with the reason


@dataclass(frozen=True)
class AbsencePlan:
    """What follows. `due` may be deleted as far as the source is concerned; the copy itself is looked at later."""

    absences: dict[str, Absence]  # to remember; all others are to be forgotten
    cluster_id: str  # to remember as the source's
    due: tuple[str, ...] = ()
    refused: str | None = None  # why nothing is deleted at all
    sentences: dict[str, str] = field(default_factory=dict)  # per topic, for the operator


def judge_absences(
    snapshot: SourceView,
    known: Mapping[str, Absence],
    cluster_id: str | None,
    policy: TopicDeletion,
    now_ms: int,
) -> AbsencePlan:
    """Decide. `known` and `cluster_id` are what was remembered; None at the first look."""
    absences = {topic: _watched(known.get(topic), now_ms) for topic in sorted(snapshot.gone)}
    sentences = {
        topic: f"{topic}: not to be seen on the source any more, which is not taken for deleted: {reason}"
        for topic, reason in sorted(snapshot.hidden.items())
    }
    # Another cluster under the old address is accepted only once nothing is missing there.
    whole = not snapshot.gone and not snapshot.hidden
    pinned = snapshot.cluster_id if cluster_id is None or whole else cluster_id
    match policy:
        case IgnoreDeletion():
            return AbsencePlan(absences, pinned)
        case ReportDeletion():
            kept = {topic: f"{_says(topic, absence)}; its copy stays" for topic, absence in absences.items()}
            return AbsencePlan(absences, pinned, sentences=sentences | kept)
        case DeleteAfter():
            doubt = _doubt(snapshot, pinned)
            waits = policy.seconds * 1000
            # The first look, or the first after a break, only notes: a deletion needs two answers, a delay apart.
            due = tuple(
                topic
                for topic, absence in absences.items()
                if doubt is None
                and (before := known.get(topic)) is not None
                and before.since_ms == absence.since_ms
                and now_ms - absence.since_ms >= waits
            )
            for topic, absence in absences.items():
                when = "not deleted" if doubt else f"due for deletion at {moment(absence.since_ms + waits)}"
                sentences[topic] = f"{_says(topic, absence)}; its copy is {when}"
            return AbsencePlan(absences, pinned, due, doubt, sentences)
        case _:
            assert_never(policy)


def _doubt(snapshot: SourceView, pinned: str) -> str | None:
    """Why the source cannot be believed about what is gone; None when it can."""
    gone, left = len(snapshot.gone), len(snapshot.same)
    if not gone:
        return None
    if snapshot.cluster_id != pinned:
        return (
            f"the source is another cluster than before (id {pinned} -> {snapshot.cluster_id}): nothing is deleted; "
            "check bootstrap.servers, and delete by hand what is really no longer wanted"
        )
    if left == 0 or (gone >= _SUSPICIOUS and gone > left):
        return (
            f"{gone} mirrored topics are gone on the source and {left} are left, as if it had been emptied: "
            "nothing is deleted; delete by hand what is really no longer wanted"
        )
    return None


def _watched(before: Absence | None, now_ms: int) -> Absence:
    if before is None or now_ms - before.watched_ms > UNWATCHED_MS or before.watched_ms > now_ms:
        return Absence(now_ms, now_ms)
    # Not noted anew at every look: that would be a record in the ledger every few seconds.
    return before if now_ms - before.watched_ms < _NOTED_EVERY_MS else Absence(before.since_ms, now_ms)


def _says(topic: str, absence: Absence) -> str:
    return f"{topic}: deleted on the source, seen at {moment(absence.since_ms)}"


def moment(ms: int) -> str:
    """A time for people, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
