"""One partition cannot keep the promise; the others continue (R7, R8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class PartitionFault(TwinlogError):
    """One partition is FAULTED; every other one continues (R7, R8). The fields are the evidence."""

    code = "PARTITION_FAULT"
    stays: ClassVar[bool] = False  # until an operator decides: trying again could hide it

    topic: str
    partition: int


@dataclass(eq=False)
class OffsetGap(PartitionFault):
    """The source deleted records before they were copied (retention, or DeleteRecords).

    Where a killed engine copied records and did not note them, each of those counts as one offset: if some offsets of
    the source held no record (aborted, compacted), fewer are missing than the offsets say.
    """

    code = "OFFSET_GAP"
    says = "{topic}-{partition}: offsets {wanted}..{earliest} (end exclusive) were deleted before they were copied"
    remedy = "Raise retention on the source; to record the loss and continue, set `on.gap = skip` on this link."

    wanted: int
    earliest: int


@dataclass(eq=False)
class SourceTruncated(PartitionFault):
    """The source log ends before the link's position: it lost records that the target has."""

    code = "SOURCE_TRUNCATED"
    stays = True
    says = "{topic}-{partition}: the source lost its records from offset {latest} on; all before {wanted} were copied"
    remedy = (
        "The target holds records that the source lost (unclean election, restored disk). Nothing more is copied until "
        "an operator decides: `twinlog link accept-truncation LINK {topic}` keeps them and continues with the new "
        "history of the source; or delete the copy, and `twinlog link reset LINK {topic}` mirrors it again."
    )

    wanted: int
    latest: int

    def __str__(self) -> str:
        if self.latest < self.wanted:
            return super().__str__()
        # The log reaches our position; only the broker's memory of who led when does not.
        return (
            f"{self.topic}-{self.partition}: all before {self.wanted} were copied, but the source does not know the "
            "leader epoch of the last of them: it lost records before that offset, or only its epoch checkpoint"
        )


@dataclass(eq=False)
class SourceTopicMissing(PartitionFault):
    """The source topic was deleted."""

    code = "SOURCE_TOPIC_MISSING"
    says = "{topic}-{partition}: the topic was deleted on the source; {copied_to} is the position reached"
    remedy = "Nothing was deleted on the target. Exclude the topic, or recreate it and the target topic together."

    copied_to: int


@dataclass(eq=False)
class SourceTopicRecreated(PartitionFault):
    """A topic of that name exists, but it is another one (topic id)."""

    code = "SOURCE_TOPIC_RECREATED"
    says = "{topic}-{partition}: the topic was deleted and created again on the source (id {old_id} -> {new_id})"
    remedy = "Delete the target topic to mirror the new one from its start, or exclude the topic."

    old_id: str
    new_id: str


@dataclass(eq=False)
class CorruptBatch(PartitionFault):
    """A batch whose checksum or structure is wrong."""

    code = "CORRUPT_BATCH"
    says = "{topic}-{partition}: the batch at offset {offset} is corrupt: {problem}"
    remedy = "Repair the source replica (another replica may be sound); the link continues when the batch can be read."

    offset: int
    problem: str


@dataclass(eq=False)
class UnknownCodec(PartitionFault):
    """A batch names a compression codec that Kafka does not have."""

    code = "UNKNOWN_CODEC"
    says = (
        "{topic}-{partition}: the batch at offset {offset} names compression codec {codec}, which Kafka does not have"
    )
    remedy = "Find out who wrote it; upgrade Twinlog if Kafka gained a codec."

    offset: int
    codec: int


@dataclass(eq=False)
class RecordTooLarge(PartitionFault):
    """One record alone exceeds what the target accepts."""

    code = "RECORD_TOO_LARGE"
    says = "{topic}-{partition}: the record at source offset {offset} needs {size} bytes, the target takes {limit}"
    remedy = "Raise `max.message.bytes` of the target topic above {size}; the link continues by itself."

    offset: int
    size: int
    limit: int | None  # None: the target refused it and did not say what it takes

    def __str__(self) -> str:
        if self.limit is not None:
            return super().__str__()
        return (
            f"{self.topic}-{self.partition}: the record at source offset {self.offset} needs {self.size} bytes, and "
            "the target refuses it as too large"
        )


@dataclass(eq=False)
class TargetTopicMissing(PartitionFault):
    """The target topic was deleted while Twinlog mirrored into it."""

    code = "TARGET_TOPIC_MISSING"
    says = "{topic}-{partition}: the target topic was deleted after {copied_to} was reached"
    remedy = "Run `twinlog link reset LINK {topic}` to mirror it again from the start, or exclude the topic."

    copied_to: int


@dataclass(eq=False)
class TargetUnwritable(PartitionFault):
    """The target partition takes no writes just now, and has not for some seconds."""

    code = "TARGET_UNWRITABLE"
    says = "{topic}-{partition}: the target takes no writes for {remote}: {problem}"
    remedy = "Bring the brokers back that hold {remote}; the link tries again every few seconds and then continues."

    remote: str
    problem: str


@dataclass(eq=False)
class LedgerUnwritable(PartitionFault):
    """The ledger cannot be written at the moment: records that are copied now would be missing in it."""

    code = "LEDGER_UNWRITABLE"
    says = "{topic}-{partition}: {ledger} takes no notes: {problem}"
    remedy = "Bring the brokers back that hold {ledger}; the link tries again every few seconds and then continues."

    ledger: str
    problem: str


@dataclass(eq=False)
class TargetTopicRefused(PartitionFault):
    """The target topic does not exist, and the target does not let Twinlog create it."""

    code = "TARGET_TOPIC_REFUSED"
    says = "{topic}-{partition}: the target topic {remote} could not be created: {problem}"
    remedy = "Create {remote} by hand, or allow it; the link tries again by itself."

    remote: str
    problem: str


@dataclass(eq=False)
class PartitionCountDiffers(PartitionFault):
    """The target topic cannot hold the same partitions as the source."""

    code = "PARTITION_COUNT_DIFFERS"
    says = "{topic}-{partition}: the source has {source_count} partitions, the target {target_count}"
    remedy = "Delete the target topic if its data is worthless, or mirror into another name."

    source_count: int
    target_count: int


@dataclass(eq=False)
class TimestampRefused(PartitionFault):
    """The target refuses the record's time."""

    code = "TIMESTAMP_REFUSED"
    says = "{topic}-{partition}: the target refuses the timestamps of the batch at source offset {offset}"
    remedy = "Raise `message.timestamp.before.max.ms` / `message.timestamp.after.max.ms` of the target topic."

    offset: int


@dataclass(eq=False)
class TargetKeepsNoTimes(PartitionFault):
    """The target topic would overwrite every timestamp (R4)."""

    code = "TARGET_KEEPS_NO_TIMES"
    says = "{topic}-{partition}: the target topic has message.timestamp.type=LogAppendTime and would change every time"
    remedy = "Set `message.timestamp.type=CreateTime` on the target topic; the link continues by itself."


@dataclass(eq=False)
class TargetLogShrunk(PartitionFault):
    """The target log ends before the position that the ledger has for it."""

    code = "TARGET_LOG_SHRUNK"
    says = (
        "{topic}-{partition}: the ledger says target offset {expected} was reached, but the target log ends at {found}"
    )
    remedy = (
        "The target lost records (unclean election?) or was recreated. Delete the copy, then run "
        "`twinlog link reset LINK {topic}` to mirror it again from the start."
    )

    expected: int
    found: int


@dataclass(eq=False)
class LedgerDisagrees(PartitionFault):
    """The target's records behind the position of the ledger differ from those of the source."""

    code = "LEDGER_DISAGREES"
    stays = True
    says = "{topic}-{partition}: {problem}"
    remedy = (
        "Nothing more is copied until an operator decides. Keep both topics and report this; delete the copy and run "
        "`twinlog link reset LINK {topic}` to mirror it again from the start."
    )

    problem: str


@dataclass(eq=False)
class ParcelsMissing(PartitionFault):
    """The reader is ahead of the writer: the records between them were dropped inside the engine."""

    code = "PARCELS_MISSING"
    says = "{topic}-{partition}: the reader brought source offset {brought}, but {wanted} is next"
    remedy = "Nothing is lost: the link reads the partition again from {wanted} by itself."

    brought: int
    wanted: int


@dataclass(eq=False)
class PartitionAccessDenied(PartitionFault):
    """Twinlog lacks a right on one topic."""

    code = "PARTITION_ACCESS_DENIED"
    says = "{topic}-{partition}: {cluster} denies {operation}"
    remedy = "Grant {operation} on the topic to Twinlog's principal; the link continues by itself."

    cluster: str
    operation: str


@dataclass(eq=False)
class ProvenanceUnknown(PartitionFault):
    """The writer of a source batch is unknown. A copy of it might return to its origin."""

    code = "PROVENANCE_UNKNOWN"
    says = "{topic}-{partition}: whether producer {producer_id} is a link from the target is unknown: {problem}"
    remedy = (
        "Grant Read and Describe on __twinlog-writers of the source to Twinlog's principal. If no link leads to "
        "the source, `provenance.mode = off` needs no such right."
    )

    producer_id: int
    problem: str


@dataclass(eq=False)
class PartitionRefused(PartitionFault):
    """The target refuses a batch for a reason that has no better name."""

    code = "PARTITION_REFUSED"
    says = "{topic}-{partition}: the target refuses the batch at source offset {offset}: {problem}"
    remedy = "See the broker's log for the reason; the link tries again by itself."

    offset: int
    problem: str


@dataclass(eq=False)
class TakeOverRefused(PartitionFault):
    """What MirrorMaker 2 noted and what the logs hold do not fit: continuing would lose or double records."""

    code = "TAKE_OVER_REFUSED"
    says = "{topic}-{partition}: MirrorMaker 2 noted {last} as the last offset it copied, but {problem}"
    remedy = (
        "Compare both topics with `twinlog import mm2 LINK`. Then set `mm2.takeover = trust` to continue behind {last} "
        "nevertheless, or `off` to put a copy of everything behind what is there, or delete the copy to restart it."
    )

    last: int
    problem: str


@dataclass(eq=False)
class TransformFailed(PartitionFault):
    """A transform of the link cannot handle a record."""

    code = "TRANSFORM_FAILED"
    says = "{topic}-{partition}: the record at source offset {offset} cannot be transformed: {problem}"
    remedy = (
        "Correct the transforms of the link (a predicate can exempt such records), or leave records out that they "
        "cannot handle with `errors.tolerance = all`; those are counted. Records before this one are copied."
    )

    offset: int
    problem: str


@dataclass(eq=False)
class TransformsChanged(PartitionFault):
    """The target has records that the ledger does not know, written by other transforms than the link has now."""

    code = "TRANSFORMS_CHANGED"
    says = (
        "{topic}-{partition}: {records} records behind source offset {position} were written by other transforms "
        "({written}) than those of the link now ({wanted}), so they cannot be recognised"
    )
    remedy = (
        "Bring the former transforms back and start the link; when status shows the partition as copying, stop it and "
        "change them. Or delete the copy and run `twinlog link reset LINK {topic}` to mirror it again."
    )

    records: int
    position: int
    written: str
    wanted: str


@dataclass(eq=False)
class RegistryNotMirrored(PartitionFault):
    """The target has schemas that a copy of the source's schemas would overwrite."""

    code = "REGISTRY_NOT_MIRRORED"
    says = "{topic}: the schemas of {source} are not mirrored: {problem}"
    remedy = (
        "After a failover run `twinlog failback LINK`: it returns the schemas first. To keep the target's registry, "
        "set `registry.mirror = off`. To replace it, export it (`twinlog registry export URL --file FILE`) and delete "
        "its topic."
    )

    source: str
    problem: str


STAYING: Final = frozenset(fault.code for fault in PartitionFault.__subclasses__() if fault.stays)
"""Codes of faults that only an operator ends."""
