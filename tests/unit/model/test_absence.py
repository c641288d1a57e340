"""Topics that are gone on the source: when a copy may be deleted, and how many doubts speak against it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.topics.absence import UNWATCHED_MS, Absence, AbsencePlan, SourceView, judge_absences
from twinlog.model.topics.deletion import DeleteAfter, IgnoreDeletion, ReportDeletion, TopicDeletion

HOUR = 3_600_000
TOPICS = tuple(f"t{number}" for number in range(8))
POLICIES: tuple[TopicDeletion, ...] = (IgnoreDeletion(), ReportDeletion(), DeleteAfter(0), DeleteAfter(3600))

fates = st.fixed_dictionaries(dict.fromkeys(TOPICS, st.sampled_from(("same", "other", "gone", "hidden"))))
times = st.integers(0, 10 * HOUR)
absences = st.dictionaries(
    st.sampled_from(TOPICS),
    st.tuples(times, times).map(lambda pair: Absence(min(pair), max(pair))),
)
ids = st.sampled_from(("here", "elsewhere"))


def snapshot(fates: dict[str, str], cluster_id: str = "here") -> SourceView:
    def those(fate: str) -> set[str]:
        return {topic for topic, its in fates.items() if its == fate}

    return SourceView(cluster_id, those("same"), those("other"), those("gone"), dict.fromkeys(those("hidden"), "no"))


def watch(fates: dict[str, str], policy: TopicDeletion, *moments: int) -> AbsencePlan:
    """Look at the same source at several moments, with what is remembered between them."""
    plan = AbsencePlan({}, "here")
    for now_ms in moments:
        plan = judge_absences(snapshot(fates), plan.absences, plan.cluster_id, policy, now_ms)
    return plan


snapshots = st.builds(snapshot, fates, ids)


@given(snapshots, absences, st.none() | ids, st.sampled_from(POLICIES), times)
def test_nothing_is_deleted_while_anything_speaks_against_it(
    seen: SourceView, known: dict[str, Absence], pinned: str | None, policy: TopicDeletion, now_ms: int
) -> None:
    plan = judge_absences(seen, known, pinned, policy, now_ms)

    assert set(plan.absences) == set(seen.gone)
    for topic in plan.due:
        assert isinstance(policy, DeleteAfter)
        assert topic in seen.gone
        assert now_ms - known[topic].since_ms >= policy.seconds * 1000
        assert now_ms - known[topic].watched_ms <= UNWATCHED_MS
        assert pinned in {None, seen.cluster_id}
        assert seen.same, "nothing proves that this is the cluster we mirrored"
        assert len(seen.gone) < 3 or len(seen.gone) <= len(seen.same)
    if not isinstance(policy, IgnoreDeletion):
        assert plan.sentences.keys() == set(seen.gone) | set(seen.hidden)


@given(snapshots, absences, ids, st.sampled_from(POLICIES), times)
def test_another_cluster_is_believed_only_when_nothing_is_missing_there(
    seen: SourceView, known: dict[str, Absence], pinned: str, policy: TopicDeletion, now_ms: int
) -> None:
    plan = judge_absences(seen, known, pinned, policy, now_ms)

    whole = not seen.gone and not seen.hidden
    assert plan.cluster_id == (seen.cluster_id if whole else pinned)


def test_a_copy_is_due_after_the_delay_and_not_before() -> None:
    fates = {"orders": "gone", "payments": "same"}
    looks = range(0, HOUR, 60_000)

    assert watch(fates, DeleteAfter(3600), *looks).due == ()
    assert watch(fates, DeleteAfter(3600), *looks, HOUR).due == ("orders",)
    assert watch(fates, DeleteAfter(0), 0).due == ()  # one answer is not enough
    assert watch(fates, ReportDeletion(), *looks, HOUR).due == ()


def test_time_in_which_nobody_watched_does_not_count() -> None:
    fates = {"orders": "gone", "payments": "same"}

    assert watch(fates, DeleteAfter(3600), 0, HOUR, HOUR + 1).due == ()


def test_a_topic_that_comes_back_begins_anew() -> None:
    gone, back = {"orders": "gone", "payments": "same"}, {"orders": "other", "payments": "same"}
    plan = watch(gone, DeleteAfter(3600), *range(0, HOUR, 60_000))

    plan = judge_absences(snapshot(back), plan.absences, "here", DeleteAfter(3600), HOUR)
    plan = judge_absences(snapshot(gone), plan.absences, "here", DeleteAfter(3600), HOUR + 1000)

    assert plan.due == ()
    assert plan.absences["orders"].since_ms == HOUR + 1000


def test_an_emptied_source_or_another_one_is_said_so() -> None:
    emptied = dict.fromkeys(TOPICS, "gone") | {"t0": "same"}
    plan = watch(emptied, DeleteAfter(0), 0, 1)
    assert "as if it had been emptied" in (plan.refused or "")
    assert plan.due == ()

    last = watch({"orders": "gone", "payments": "other"}, DeleteAfter(0), 0, 1)
    assert "1 mirrored topics are gone on the source and 0 are left" in (last.refused or "")
    assert last.due == ()

    elsewhere = judge_absences(snapshot({"a": "gone", "b": "same"}, "elsewhere"), {}, "here", DeleteAfter(0), 1)
    assert "here -> elsewhere" in (elsewhere.refused or "")
