"""The ledger, one compacted topic on the target with the state of a link: names, records, bytes. Pure.

    partition 0        the roster: which topics are mirrored, which engine runs the link, how its chores fare
    partition 1 + s    shard s: position, state and offset map of the partitions of that shard

Keys are paths, values are JSON, so that an operator can read it with any console consumer. Only the offset map is
packed (model.packed_runs): whole in a sealed part, as base64 within a state. `twinlog explain map` prints it.

    engine                             who runs the link (see Engine)
    owners                             the ids of the two clusters that the ledger belongs to (see LedgerOwners)
    roster/<topic>                     a topic that is mirrored (see RosterTopic)
    state/<topic>/<partition>          position, state and the newest part of the map (see PartitionState)
    runs/<topic>/<partition>/<offset>  an older, full part of the map (see SealedRuns)
    gap/<topic>/<partition>/<offset>   offsets that were skipped on purpose (see Gap)
    chore/<chore>                      what a chore of the control plane last did (see ChoreNote)
    memo/<chore>/<name>                what a chore must remember over restarts (see Memo)
    times/<shard>                      how long the records of a shard took, stage by stage (see ShardTimes)

Only the owner of a shard writes into its partition, with the producer id it writes records with, so the same fence
shuts an old owner out of both (R10). Topic names cannot contain a slash.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from twinlog.model.ledger.packed_runs import pack, unpack
from twinlog.model.ledger.runs import RunMap, Stretch
from twinlog.model.ledger.varints import put, put_signed, take, take_signed
from twinlog.model.names import TopicPartition

ROSTER_PARTITION: Final = 0
SEAL_AT: Final = 512
"""Stretches after which a part of the map is sealed under its own key: bounds what a flush writes (R11)."""

PartitionPhase: TypeAlias = Literal["copying", "closed", "faulted"]
PackedRuns = Annotated[
    bytes,
    BeforeValidator(lambda given: base64.b64decode(given) if isinstance(given, str) else given),
    PlainSerializer(lambda packed: base64.b64encode(packed).decode()),
]
"""A packed map; in JSON as base64."""
_BINARY: Final = 1
"""The first byte of a sealed part that is not JSON."""


def ledger_topic(source: str) -> str:
    """The ledger of the link from `source`, on its target."""
    return f"__twinlog-ledger.{source}"


def shard_of(partition: TopicPartition, shards: int) -> int:
    """The shard that owns a partition, for ever: the partitions of one topic lie in neighbouring shards."""
    return (zlib.crc32(partition.topic.encode()) + partition.partition) % shards


def transactional_id(source: str, target: str, shard: int) -> str:
    """The identity with which a shard writes; never bound to a task or an engine."""
    return f"twinlog.{source}->{target}.{shard}"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    def value(self) -> bytes:
        """The bytes of the record's value."""
        return self.model_dump_json(exclude_none=True).encode()


HINDRANCES: Final = "hindrances"
FIRST_LANE: Final = "first-lane"
"""The memos by which tasks tell what holds records up just now."""
SCHEMAS_AHEAD: Final = "registry-ahead"
BROUGHT: Final = "brought"
"""The memo by which the readers of a way back hear up to where new schemas are at the old home."""
ENGINE_SILENT_MS: Final = 7_000
"""An engine writes its record every 2 s; status reports one that missed three of them as silent."""
ENGINE_DEAD_MS: Final = 20_000
"""An engine that was silent for so long is taken for dead: another one may have its link."""


class Engine(_Entry):
    """The engine that runs the link. Its generation is the offset of its first record in the roster: the log itself
    decides who came later. A later engine takes over; an earlier one, seeing it, stops (R10).
    """

    engine_id: str
    generation: int | None = None  # None in the first record: the offset is the generation
    host: str = ""
    pid: int = 0
    phase: Literal["starting", "running", "stopping", "stopped", "switched"] = "starting"
    replan: int = 0  # raised to end the running epoch early
    trouble: str | None = None  # why nothing moves, when nothing moves
    heeded: int = 0  # the generation of the switch that this engine obeys by now
    shut_out: int = 0  # the newest generation of a switch that shut the link's writers out; later engines carry it on
    shut_out_pair: str = ""  # whose switch: a cluster with another alias makes another pair, whose decisions count anew
    epochs: int = 0  # that came to their end since this engine signed in
    epochs_failed: int = 0
    service: str = ""  # services of one group are standbys of each other: none of them takes anything from a stranger
    since_ms: int = 0  # when it signed in
    took_from: str = ""  # the living engine whose link it took
    at_ms: int = 0


SWITCH_ENGINE: Final = "switch"
"""The engine id with which a switch signs in to shut the link's writers out: nobody copies in its generation."""


class LedgerOwners(_Entry):
    """The two clusters that the ledger belongs to, by the ids they were formatted with: aliases are only words."""

    source: str
    target: str


class RosterTopic(_Entry):
    """A mirrored topic: which incarnation of it, into what, and from where on."""

    topic: str
    source_id: str
    remote: str
    target_id: str
    origins: list[int]  # per partition: the first source offset this link is responsible for
    max_message_bytes: int = 1_048_588  # of the target topic
    problem: FaultEntry | None = None  # the whole topic cannot be mirrored
    created_with: dict[str, str] | None = None  # the configs we made the target topic with, if we did

    @property
    def partitions(self) -> int:
        """How many partitions are mirrored."""
        return len(self.origins)

    @property
    def incarnation(self) -> str:
        """Changes when the topic was created anew on either side: older states are void then."""
        return f"{self.source_id}/{self.target_id}"


class FaultEntry(_Entry):
    """A PartitionFault as the ledger keeps it."""

    code: str
    says: str
    remedy: str
    facts: dict[str, Any] = Field(default_factory=dict)
    since_ms: int = 0


class Gap(_Entry):
    """Offsets first..next-1 that will never be copied, and why."""

    topic: str
    partition: int
    first: int
    next: int
    reason: str
    at_ms: int


class PartitionState(_Entry):
    """Where a partition stands. What it says is acknowledged by the target; more may be there (see flow.takeover)."""

    topic: str
    partition: int
    incarnation: str
    phase: PartitionPhase
    source_first: int  # the map begins here …
    target_first: int
    source_next: int  # … and ends here: everything before is copied or deliberately not
    target_next: int
    producer_id: int
    producer_epoch: int = -1  # with which sequence numbers are counted; -1: unknown
    sequence: int = -1  # of the record behind `target_next`: tells how many are there, even if they were deleted
    source_epoch: int = -1  # leader epoch of the batch before `source_next`; -1: unknown (older ledgers)
    records: int = 0  # copied since the beginning
    bytes: int = 0
    skipped: int = 0  # offsets in gaps
    returned: int = 0  # offsets left out because they came from the target
    dropped: int = 0  # offsets left out by transforms
    refused: int = 0  # offsets left out because a transform could not handle them (errors.tolerance)
    transforms: str = ""  # digest of those that what lies behind `target_next` went through; "": none
    fault: FaultEntry | None = None
    newest_ms: int = -1  # timestamp of the newest record copied
    since_ms: int = 0  # when the link began with this partition: what is older is history
    at_ms: int = 0
    map_first: int = 0  # the open part of the map begins here; sealed parts that begin behind it do not count
    open_map: PackedRuns = b""

    @model_validator(mode="before")
    @classmethod
    def _from_rows(cls, given: Any) -> Any:
        return _packed_rows(given, "open_map")

    def run_map(self) -> RunMap:
        """The open part of the map."""
        return unpack(self.open_map)

    def rewind(self, source_next: int) -> None:
        """Continue at an earlier source offset: what was copied from there on has no place in the map any more."""
        self.open_map = pack(self.run_map().before(source_next))
        self.source_next, self.source_epoch = source_next, -1


class SealedRuns(_Entry):
    """A full part of the map: source offsets first..next-1. Its value is binary; an older ledger holds JSON."""

    topic: str
    partition: int
    incarnation: str
    first: int
    next: int
    packed: PackedRuns

    @model_validator(mode="before")
    @classmethod
    def _from_rows(cls, given: Any) -> Any:
        return _packed_rows(given, "packed")

    def value(self) -> bytes:
        """Topic and partition are in the key alone."""
        value = bytearray([_BINARY])
        name = self.incarnation.encode()
        put(value, len(name))
        value += name
        put_signed(value, self.first)
        put_signed(value, self.next)
        return bytes(value) + self.packed

    @classmethod
    def read(cls, key: bytes, value: bytes) -> SealedRuns:
        """Read what `value` wrote. Raises ValueError when these are not the bytes of a part."""
        try:
            _, topic, partition, _ = key.decode().split("/")
            length, at = take(value, 1)
            incarnation = value[at : at + length].decode()
            first, at = take_signed(value, at + length)
            after, at = take_signed(value, at)
        except IndexError:
            raise ValueError(f"{key!r}: not a part of a map") from None
        return cls.model_construct(
            topic=topic, partition=int(partition), incarnation=incarnation, first=first, next=after, packed=value[at:]
        )

    def run_map(self) -> RunMap:
        return unpack(self.packed)


def _packed_rows(given: Any, name: str) -> Any:
    """Ledgers before the packed map held it as `runs`, a list of rows of numbers."""
    if not isinstance(given, dict) or "runs" not in given or name in given:
        return given
    given = dict(given)
    return given | {name: pack(RunMap.of([Stretch(*row) for row in given.pop("runs")]))}


class ChoreNote(_Entry):
    """What a sync job of the control plane (configs, ACLs, groups …) last did, and what it could not do (R13, R14)."""

    chore: str
    at_ms: int
    took_ms: int = 0
    counts: dict[str, int] = Field(default_factory=dict)
    findings: list[str] = Field(default_factory=list)  # the first, then remarks; `found` counts findings
    found: int = 0
    trouble: str | None = None  # why the whole sync job could not be done


class Memo(_Entry):
    """What a sync job remembers: e.g. the value that it gave a config, to tell a later change by hand from its own."""

    chore: str
    name: str
    body: dict[str, Any]


class ShardTimes(_Entry):
    """How long records took, as an owner of the shard counted it since its take-over (see model.stage_times)."""

    shard: int
    owner: str  # producer id and epoch: another one begins to count at nothing
    stages: dict[str, list[int]]


Entry: TypeAlias = (
    Engine | LedgerOwners | RosterTopic | PartitionState | SealedRuns | Gap | ChoreNote | Memo | ShardTimes
)
ENGINE_KEY: Final = b"engine"


def key_of(entry: Entry) -> bytes:
    """The key under which an entry is kept; a newer entry of the same key replaces it."""
    match entry:
        case Engine():
            return ENGINE_KEY
        case LedgerOwners():
            return b"owners"
        case RosterTopic():
            return f"roster/{entry.topic}".encode()
        case PartitionState():
            return f"state/{entry.topic}/{entry.partition}".encode()
        case SealedRuns():
            return f"runs/{entry.topic}/{entry.partition}/{entry.first}".encode()
        case Gap():
            return f"gap/{entry.topic}/{entry.partition}/{entry.first}".encode()
        case ChoreNote():
            return f"chore/{entry.chore}".encode()
        case Memo():
            return memo_key(entry.chore, entry.name)
        case ShardTimes():
            return f"times/{entry.shard}".encode()


TRUNCATIONS: Final = "truncations"
"""The memos with which an operator accepts that the source lost records (see flow.accept)."""


def truncation_name(partition: TopicPartition) -> str:
    """The name of the memo about one partition."""
    return f"{partition.topic}/{partition.partition}"


def memo_key(chore: str, name: str) -> bytes:
    """The key of a memo; the name may hold anything, slashes too."""
    return f"memo/{chore}/{name}".encode()


_KINDS: Final[dict[str, type[_Entry]]] = {
    "engine": Engine,
    "owners": LedgerOwners,
    "roster": RosterTopic,
    "state": PartitionState,
    "runs": SealedRuns,
    "gap": Gap,
    "chore": ChoreNote,
    "memo": Memo,
    "times": ShardTimes,
}


def read_entry(key: bytes, value: bytes) -> Entry | None:
    """Read one record; None for what we did not write (somebody else's record is not an error of ours)."""
    kind = _KINDS.get(key.split(b"/", 1)[0].decode(errors="replace"))
    if kind is None:
        return None
    try:
        if kind is SealedRuns and value[:1] == bytes([_BINARY]):
            return SealedRuns.read(key, value)
        entry: Any = kind.model_validate(json.loads(value))
    except (ValueError, TypeError):
        return None
    return entry  # type: ignore[no-any-return]


RosterTopic.model_rebuild()
