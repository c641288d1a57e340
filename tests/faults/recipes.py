"""Faults that tests of the project inject and judge: some of the plan, and recipes of the review of correctness."""

from __future__ import annotations

from tests.faults.scenario import proof

_FAMILY = "recipes"
_FAULTS = "tests/integration/test_faults.py"
_RARE = "tests/chaos/test_rare_beginnings.py"
_VERSIONS = "tests/compat/test_kafka_versions.py"

proof(
    "the target refuses configs of a copy",
    23,
    key="config-sync-refused",
    family=_FAMILY,
    done="Configs that the target does not take or know: they are listed as refused, the others are set, records flow.",
    tests=["tests/integration/test_config_sync.py"],
)
proof(
    "records in the formats of Kafka before 0.11",
    26,
    key="old-formats",
    family=_FAMILY,
    done="Message sets of magic 0 and 1, in every codec and with a flipped byte, built by hand: no broker of today "
    "writes them.",
    tests=[
        "tests/unit/flow/test_shape.py::test_old_formats_are_lifted",
        "tests/unit/flow/test_shape.py::test_a_flipped_byte_is_a_corrupt_batch_and_what_lies_before_it_goes_on",
        "tests/unit/wire/test_batch.py::test_old_messages_end_one_behind_their_own_offset",
    ],
)
proof(
    "every oddity that records may have",
    30,
    key="odd-records",
    family=_FAMILY,
    done="Many headers, equal and empty ones, keys and values that are empty or missing, odd times, every codec.",
    tests=[
        "tests/integration/test_copying.py::test_every_oddity_that_kafka_allows_arrives_unchanged_in_every_codec",
        "tests/integration/test_copying.py::test_times_given_by_the_source_broker_are_kept",
    ],
)
proof(
    "the epochs of a producer id run out",
    "B1",
    key="epochs-run-out",
    family=_FAMILY,
    done="32,767 take-overs of one shard on a real broker; owners before and behind the last epoch write late.",
    tests=["tests/chaos/test_epochs_run_out.py"],
)
proof(
    "retention deletes what a killed owner wrote and did not note",
    "A12",
    "B2",
    "B3",
    key="unnoted-tail-deleted",
    family=_FAMILY,
    done="Kill -9, then a part or all of the tail is deleted on the copy; the ledger lost its end; Kafka gave the "
    "producer id up: the next owner writes nothing twice.",
    tests=["tests/integration/test_abandoned.py"],
)
proof(
    "two failovers that did not hear of each other",
    "B6",
    key="split-decisions",
    family=_FAMILY,
    done="Each side decides while the other one is away; both come back.",
    tests=["tests/chaos/test_split_decisions.py"],
)
proof(
    "twenty thousand positions of groups move for long",
    "B7",
    key="many-checkpoints",
    family=_FAMILY,
    done="The topic of checkpoints must stay small, and a failover must find every position in it.",
    tests=["tests/chaos/test_many_checkpoints.py"],
)
proof(
    "a frozen switch wakes after it was given up",
    "B8",
    key="switch-frozen",
    family=_FAMILY,
    done="The process of a switch is frozen while it shuts a side, another one aborts the switch, the first wakes.",
    tests=["tests/chaos/test_switch_frozen.py"],
)
proof(
    "a service is called to lead before it hears that another one led",
    "B9",
    key="turn-before-news",
    family=_FAMILY,
    done="A service is frozen, another one leads and leaves; the first wakes and is elected before it hears of it.",
    tests=["tests/unit/control/test_leadership.py", "tests/chaos/test_leader_turns.py"],
)
proof(
    "a planned failover right after a topic was created",
    "A11",
    "B10",
    key="topic-newer-than-the-look",
    family=_FAMILY,
    done="No engine has seen the topic yet: it is shut and drained all the same. The fence stays on its cluster.",
    tests=["tests/integration/test_switch_fence.py"],
)
proof(
    "a broker hears late of the fence",
    "B11",
    key="late-fence",
    family=_FAMILY,
    done="A producer of one record every two seconds, behind a broker that applies the fence late.",
    tests=["tests/integration/test_fence_proof.py"],
)
proof(
    "two deployments with the same aliases and different sources",
    "B17",
    key="equal-aliases",
    family=_FAMILY,
    done="Another source cluster of the same alias on the same target: the second engine is refused.",
    tests=["tests/integration/test_ledger_owner.py"],
)
proof(
    "a batch names a codec that Kafka does not have",
    25,
    key="unknown-codec",
    family=_FAMILY,
    done="On the source's disk one batch gets another codec and one a flipped byte: each partition stops there.",
    tests=[f"{_FAULTS}::test_a_corrupt_batch_and_an_unknown_codec_stop_their_partitions_at_the_very_offset"],
)
proof(
    "no tokens are to be had",
    32,
    key="token-server-down",
    family=_FAMILY,
    done="The server that gives OAuth tokens is away, comes back, and tokens expire while clients run.",
    tests=[
        "tests/integration/test_logins.py::test_tokens_are_got_renewed_and_waited_for",
        "tests/integration/test_logins.py::test_no_token_is_a_clear_trouble_of_both_clients",
    ],
)
proof(
    "the first batch of a fresh copy is refused",
    "A1",
    key="first-batch-refused",
    family=_FAMILY,
    done="The batches behind it may not land in its place; when the cause is lifted, every record is there once.",
    tests=["tests/integration/test_first_batch.py"],
)
proof(
    "an unplanned failover with a deleted and a leaderless copy",
    "A7",
    key="failover-with-dead-copies",
    family=_FAMILY,
    done="A copy is deleted, one has no leader, one has a transaction that cannot end: the failover ends and names it.",
    tests=["tests/integration/test_switch_dead_copies.py"],
)
proof(
    "retention between two switches",
    "A8",
    key="retention-between-switches",
    family=_FAMILY,
    done="Everything expires between two failovers, on the old side during an outage, and in the tail.",
    tests=["tests/chaos/test_switch_retention.py"],
)
proof(
    "an engine that was stopped by force goes on",
    "A9",
    key="stopped-by-force",
    family=_FAMILY,
    done="An engine that may not read the switch copies on; an engine is thawed behind the cut, whole or its driver.",
    tests=["tests/integration/test_forced_stop.py", "tests/chaos/test_thawed_engines.py"],
)
proof(
    "a part of the ledger has no leader",
    "B4",
    key="ledger-without-leader",
    family=_FAMILY,
    done="The only broker of one ledger partition is killed under load; memory must not grow with what is not noted.",
    tests=["tests/integration/test_ledger_lost.py"],
)
proof(
    "a login is refused while a leader is sought",
    "B5",
    key="login-refused",
    family=_FAMILY,
    done="The leader of a copy is killed and the password of the link is refused meanwhile; no batch may be forgotten.",
    tests=["tests/chaos/test_refused_login.py"],
)
proof(
    "records of a hundred megabytes in all tasks at once",
    "B12",
    key="huge-records",
    family=_FAMILY,
    done="Four partitions get records of 95 MB at once: Spark's JVM lives, and all arrive.",
    tests=["tests/chaos/test_large_records.py"],
)
proof(
    "a start without topics, then topics while the engine is down",
    "B13",
    key="topics-after-an-empty-start",
    family=_FAMILY,
    done="`start.from = latest` was applied when the link had no topic: later ones are copied from their first record.",
    tests=[f"{_RARE}::test_a_topic_made_while_a_link_without_topics_was_down_is_copied_from_its_first_record"],
)
proof(
    "a dead engine whose clock was ahead, a target whose clock is behind",
    "B14",
    key="clocks-apart",
    family=_FAMILY,
    done="The last word of a killed engine is from an hour ahead; the notes of an engine come two hours too early.",
    tests=["tests/integration/test_clocks.py"],
)
proof(
    "a copy is created anew on brokers that take batches by name",
    "B15",
    key="copy-made-anew-by-name",
    family=_FAMILY,
    done="Target of Kafka 3.9: the next batch lands in the new copy at offset 0; that partition alone stops, by name.",
    tests=[f"{_VERSIONS}::test_a_batch_that_reaches_a_copy_made_anew_on_kafka_3_is_a_fault_of_its_partition_alone"],
)
proof(
    "a partition begins again and again while its shard is opened",
    "B16",
    key="begun-twice",
    family=_FAMILY,
    done="The target is frozen when a new topic is opened, and the topic is deleted on the source; then it wakes.",
    tests=[f"{_RARE}::test_a_partition_that_begins_again_and_again_while_the_target_is_frozen_holds_no_bytes"],
)
