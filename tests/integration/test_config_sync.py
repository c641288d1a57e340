"""Topic configs on real clusters: what follows the source, what stays by hand, what is refused; and deleted topics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.load import Load
from tests.kit.threads import ThreadedEngine, engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.ledger.records import ChoreNote
from twinlog.model.topics.configs import ConfigOrigin
from twinlog.surface.cli.main import app
from twinlog.sync.config_orders import apply_configs


def overrides(admin: ClusterAdmin, topic: str) -> dict[str, str | None]:
    """What was set for the topic itself."""
    found = admin.fetch_topic_configs([topic])[topic]
    assert not isinstance(found, ClusterError), found
    return {config.name: config.value for config in found if config.origin is ConfigOrigin.TOPIC}


def await_override(admin: ClusterAdmin, topic: str, config: str, value: str | None) -> None:
    wait_until(
        lambda: overrides(admin, topic).get(config),
        lambda seen: seen == value,
        within_s=60,
        what=f"{config} of {topic}",
    )


def await_note(engine: ThreadedEngine, chore: str, accept: Callable[[ChoreNote], bool], what: str) -> ChoreNote:
    note = wait_until(
        lambda: engine.chores.notes.get(chore),
        lambda note: note is not None and accept(note),
        within_s=60,
        what=what,
    )
    assert note is not None
    return note


def command(*words: str, code: int = 1) -> Any:
    """What a command answers, which is JSON; an exit code of 1 says no."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout)


def change(admin: ClusterAdmin, topic: str, **configs: str | None) -> None:
    wishes = {name.replace("_", "."): value for name, value in configs.items()}
    assert admin.apply_topic_configs({topic: wishes}) == {topic: None}


@pytest.mark.proves("R8", "R13", "R14")
def test_configs_follow_the_source_stay_by_hand_or_are_listed_as_refused(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    # Logins, quotas and group configs belong to the cluster, not to this link: other tests leave some on the source.
    modes = dict.fromkeys(("sync_scram_users_mode", "sync_client_quotas_mode", "sync_group_configs_mode"), "off")
    ends = make_ends(sync_topic_configs_interval_seconds="1", sync_topic_acls_enabled="false", **modes)
    topic = ends.create("orders", 1, retention_ms="111111111", segment_bytes="2000000")
    other, remote = ends.create("other"), ends.remote("orders")
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        ends.await_topic(ends.target, remote)
        # A change right after the creation is ours to make, although no cycle has looked at the configs yet.
        change(ends.source, topic, retention_ms="222222222")
        await_override(ends.target, remote, "retention.ms", "222222222")
        change(ends.source, topic, retention_ms=None)
        await_override(ends.target, remote, "retention.ms", None)

        change(ends.target, remote, segment_bytes="3000000", flush_ms="77")
        kept = await_note(engine, "configs", lambda note: note.found == 2, "two differences")
        assert any("segment.bytes 3000000 by hand, the source 2000000" in finding for finding in kept.findings)
        assert any("flush.ms 77 by hand, the source unset" in finding for finding in kept.findings)
        assert overrides(ends.target, remote) == {"segment.bytes": "3000000", "flush.ms": "77"}

        told = command("diff", ends.link.name, "-c", str(ends.write_file(tmp_path)), "-o", "json")
        differing = {(row["kind"], row["thing"], row["what"].split()[-1]) for row in told["differences"]}
        assert differing == {("config", topic, "segment.bytes"), ("config", topic, "flush.ms")}
        assert all("by hand" in row["why"] for row in told["differences"])

        change(ends.source, ends.name("other"), retention_ms="333333333")  # one topic's trouble is its own
        await_override(ends.target, ends.remote(other), "retention.ms", "333333333")

    ends.set(sync_topic_configs_conflict="revert")
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        await_override(ends.target, remote, "segment.bytes", "2000000")
        await_override(ends.target, remote, "flush.ms", None)
        await_note(engine, "configs", lambda note: note.found == 0, "no difference")
        (link,) = command("explain", "topic", topic, "-c", str(ends.write_file(tmp_path)), "-o", "json", code=0)
        fates = {config["name"]: config["fate"] for config in link["configs"]}
        assert (link["mirrored"], link["remote"], link["why"]) == (True, remote, f"included by {ends.prefix}.*")
        assert (fates["segment.bytes"], fates["min.insync.replicas"]) == ("in sync", "not copied")

    path = str(ends.write_file(tmp_path))
    assert command("diff", ends.link.name, "-c", path, "-o", "json", code=0)["differences"] == []
    (unknown,) = command("explain", "topic", ends.name("nobody"), "-c", path, "-o", "json")
    assert f"there is no such topic on {ends.alias}" in unknown["facts"]
    (group,) = command("explain", "group", "nobody", "-c", path, "-o", "json")
    assert (group["exists"], group["translated"]) == (False, False)


@pytest.mark.proves("R8", "R13")
def test_a_refused_config_is_named_and_the_others_of_its_topic_are_still_set(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    topic, gone = ends.create("picky"), ends.name("gone")
    # The broker names the first of the bad ones in its answer, and not the second.
    wishes = {"retention.ms": "-1", "future.config": "1", "remote.storage.enable": "true", "flush.ms": "5"}

    refused = apply_configs(ends.source, {topic: wishes, gone: {"flush.ms": "5"}})

    assert refused[topic].keys() == {"future.config", "remote.storage.enable"}
    assert "future.config" in refused[topic]["future.config"]
    assert "iered" in refused[topic]["remote.storage.enable"]
    assert refused[gone].keys() == {"flush.ms"}
    await_override(ends.source, topic, "flush.ms", "5")
    assert overrides(ends.source, topic) == {"flush.ms": "5", "retention.ms": "-1"}


@pytest.mark.proves("R7", "R13")
def test_a_copy_is_deleted_after_its_source_unless_somebody_else_wrote_into_it(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(topic_deletion="delete-after 1s")
    names = {topic: ends.create(topic) for topic in ("kept", "gone", "used")}
    for name in names.values():
        ends.load(name).produce(20)
    with engine_running(ends.link, tmp_path, with_chores=True) as engine:
        ends.await_copied()
        Load(ends.target_cluster.bootstrap_servers, ends.remote("used"), 1, seed=9).produce(1)

        for topic in ("gone", "used"):
            ends.delete(ends.source, names[topic])

        ends.await_topic_gone(ends.target, ends.remote("gone"))
        note = await_note(engine, "deletions", lambda note: "did not write" in str(note.findings), "the stranger")
        assert note.counts["gone"] >= 1
        status = ends.await_status(
            lambda status: {part.partition.topic for part in status.partitions}.isdisjoint({names["gone"]}),
            "the roster without the deleted topic",
        )
        assert status.state == "RUNNING"  # the policy says what becomes of it
    assert {ends.remote(topic) for topic in ("kept", "used")} <= set(ends.target.list_topics())
