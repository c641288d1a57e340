"""Faults that tests of the project inject and judge: some of the plan, and recipes of the review of correctness."""

from __future__ import annotations

from tests.faults.scenario import proof

_FAMILY = "recipes"

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
    "B2",
    key="unnoted-tail-deleted",
    family=_FAMILY,
    done="Kill -9, then a part or all of the tail is deleted on the copy, then the next owner takes over.",
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
    done="The events come in that order, by hand: somebody must lead at the end.",
    tests=["tests/unit/control/test_leadership.py"],
)
proof(
    "a planned failover right after a topic was created",
    "B10",
    key="topic-newer-than-the-look",
    family=_FAMILY,
    done="No engine has seen the topic yet: it is shut and drained all the same.",
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
