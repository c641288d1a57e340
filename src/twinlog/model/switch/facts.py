"""What each step of a switch leaves for later steps and for the report: one frozen model per step. Pure.

The journal keeps them as JSON, which is their only other form. Names in the JSON are those of the fields: journals of
earlier versions are read as they are. A field that an earlier version did not write has its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    model_serializer,
    model_validator,
)

from twinlog.model.names import TopicPartition

Means: TypeAlias = Literal["acl", "topic-config", "none"]
"""How producers are shut out."""
LISTED: Final = 50
"""How many findings of a step are kept; how many there were is counted."""


def ends_as_lists(ends: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    """Offsets per topic, in the order of the partitions: what the journal keeps."""
    lists: dict[str, list[int]] = {}
    for partition in sorted(ends):
        lists.setdefault(partition.topic, []).append(ends[partition])
    return lists


def _ends_from_lists(lists: Any) -> Any:
    if any(isinstance(name, TopicPartition) for name in lists):
        return lists
    return {TopicPartition(topic, number): end for topic, ends in lists.items() for number, end in enumerate(ends)}


def _partition(value: Any) -> TopicPartition:
    return value if isinstance(value, TopicPartition) else TopicPartition.parse(value)


PartitionKey: TypeAlias = Annotated[TopicPartition, PlainValidator(_partition), PlainSerializer(str, return_type=str)]
EndOffsets: TypeAlias = Annotated[
    dict[PartitionKey, int],
    BeforeValidator(_ends_from_lists),
    PlainSerializer(ends_as_lists, return_type=dict[str, list[int]]),
]
"""Where partitions end."""


class CutAt(NamedTuple):
    """Where a link stopped in one partition: the next offset on its source, and on its target."""

    source: int
    target: int


Cut: TypeAlias = dict[str, tuple[CutAt, ...]]
"""By source topic: where a link stopped, in the order of the partitions."""


class StepFacts(BaseModel):
    """What one step leaves. `step` is its id in plans and in the journal."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    step: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """For the journal: what was set, under the names of the fields."""
        return self.model_dump(mode="json", exclude_unset=True)


class Findings(StepFacts):
    """What the operator should know, one sentence each: the first ones, and how many there were."""

    findings: tuple[str, ...] = ()
    found: int = 0


def findings_of(findings: list[str]) -> dict[str, Any]:
    """The two fields of `Findings`."""
    return {"findings": tuple(findings[:LISTED]), "found": len(findings)}


class Frozen(StepFacts):
    """The engine only copies records."""

    step = "freeze"


class FenceFacts(StepFacts):
    """A side is shut: where its topics end, and by which means. `pending`: it could not be shut yet, and why."""

    ends: EndOffsets | None = None
    means: Means | None = None
    pending: bool = False
    why: str | None = None


class SourceFence(FenceFacts):
    """The fence of the source, for later steps."""

    step = "fence-source"


class TargetFence(FenceFacts):
    """The fence of the target, for later steps."""

    step = "fence-target"


class OldFence(FenceFacts):
    """Of an old primary, which may be lost."""

    step = "fence-old"


class Drained(StepFacts):
    """Everything up to the fence is copied."""

    step = "drain"


class DrainedBack(StepFacts):
    """Everything is copied back."""

    step = "drain-back"


class LinkStopped(Findings):
    """The cut of a failover. `unnoted` records were written but are not in the ledger; `dead` copies cannot be used."""

    step = "stop-link"

    cut: Cut = Field(default_factory=dict)
    unnoted: dict[PartitionKey, int] = Field(default_factory=dict)
    dead: dict[PartitionKey, str] = Field(default_factory=dict)


class Loss(StepFacts):
    """What was not copied when the source was lost; None is unknown. `lost` has the first and the next offset."""

    step = "loss"

    records: int | None = None
    at_most: int | None = None
    known_at_ms: int | None = None
    copied_ms: int | None = None
    lost: dict[PartitionKey, tuple[int, int]] = Field(default_factory=dict)


class CutGroup(BaseModel):
    """A consumer group that starts at the consistent cut of its set, and how much it reads again because of that."""

    model_config = ConfigDict(frozen=True)

    set: str
    group: str
    as_of_ms: int
    read_again: int


class Positions(Findings):
    """Positions of groups, exact."""

    step = "positions"

    counts: dict[str, int] = Field(default_factory=dict)


class PositionsKnown(Findings):
    """Positions of groups by their last checkpoints."""

    step = "positions-known"

    groups: tuple[str, ...] = ()
    cuts: tuple[CutGroup, ...] = ()


class PositionsBack(Findings):
    """Positions of groups on the old primary."""

    step = "positions-back"


class Promoted(StepFacts):
    """Which side is active."""

    step = "promote"

    active: str = ""


class Released(Findings):
    """What lets producers write to the target, and which topics they would miss."""

    step = "release"

    acls: tuple[str, ...] = ()
    missing_for_writers: tuple[str, ...] = ()


class Redirected(StepFacts):
    """Where clients were sent, and what each hook answered. A hook that is in `called` is not called again."""

    step = "redirect"
    _prefix: ClassVar[str] = "hook "

    active: str | None = None
    called: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read_hooks(cls, kept: Any) -> Any:
        """Each hook has an entry of its own in the journal: a note about one says nothing about others."""
        if not isinstance(kept, Mapping):
            return kept
        hooks = {name.removeprefix(cls._prefix): said for name, said in kept.items() if name.startswith(cls._prefix)}
        return {**kept, "called": {**kept.get("called", {}), **hooks}}

    @model_serializer
    def _write_hooks(self) -> dict[str, Any]:
        active = {} if self.active is None else {"active": self.active}
        return active | {f"{self._prefix}{name}": said for name, said in self.called.items()}


class Reversed(Findings):
    """The way back copies. `old_side` says who may write to the side that was left."""

    step = "reverse"

    old_side: str = ""


class TailRange(BaseModel):
    """What one partition of an old primary has and the other side never got. Offsets first..next-1 hold `records`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    first: int
    next: int
    records: int = 0
    expired: int = 0  # offsets that retention deleted before they could be exported
    oldest_ms: int | None = None
    newest_ms: int | None = None


class TailFacts(Findings):
    """The tail: by partition, how many records, and where they were exported to."""

    step = "tail"

    tails: dict[PartitionKey, TailRange] = Field(default_factory=dict)
    records: int = 0
    torn: tuple[dict[str, Any], ...] = ()
    file: str | None = None
    topic: str | None = None

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Where each tail ends on the old primary."""
        return {partition: tail.next for partition, tail in self.tails.items()}


class Admitted(StepFacts):
    """The way back may write into the source."""

    step = "admit"


class Wiped(StepFacts):
    """Topics of the old primary that were deleted."""

    step = "wipe"

    deleted: tuple[str, ...] = ()


class CopiedBack(Findings):
    """The way back copies: topics that begin at the cut, and whether the tail was appended to the other side."""

    step = "copy-back"

    seeded: tuple[str, ...] = ()
    appended: bool = False


class CopiedAll(StepFacts):
    """Everything is copied back."""

    step = "copy-all"

    full: bool = False


class BackStopped(Findings):
    """The cut of a failback, and the first offset in each partition that others wrote to meanwhile."""

    step = "stop-back"

    cut_back: Cut = Field(default_factory=dict)
    strays: dict[PartitionKey, int] = Field(default_factory=dict)


class SourceOpened(StepFacts):
    """The source takes records of its producers."""

    step = "open-source"


class RegistryPromoted(Findings):
    """The registry of the target writes: its term, what its ids begin above, and how many ids were proven."""

    step = "registry"

    term: int | None = None
    floor: int | None = None
    ids: int | None = None


class RegistryHome(Findings):
    """After `registry-home`: the source's topic has the schemas of the target, and its registry leads again."""

    step = "registry-home"

    term: int | None = None
    brought: int | None = None


class Resumed(Findings):
    """The link copies as before the disaster. `old_side` says who may write to the side that was left."""

    step = "resume"

    old_side: str = ""


class FenceNote(BaseModel):
    """What a cluster was like before its producers were shut out: written before anything is changed.

    former   the size limit of each topic; None is none of its own
    denied   rules (topic, principal) that were there before the fence
    kept     retention and compaction of each topic, where the fence includes the retention guard
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    topics: tuple[str, ...] = ()
    means: Means | None = None
    former: dict[str, str | None] | None = None
    denied: tuple[tuple[str, str], ...] | None = None
    kept: dict[str, dict[str, str | None]] | None = None

    def merged(self, more: Self) -> Self:
        """With one more note: what was said first about a topic stays."""
        added = [rule for rule in more.denied or () if rule[0] not in self.topics]
        return self.model_copy(
            update={
                "topics": tuple(sorted({*self.topics, *more.topics})),
                "means": self.means or more.means,
                "former": _joined(more.former, self.former),
                "kept": _joined(more.kept, self.kept),
                "denied": None if self.denied is None and more.denied is None else (*(self.denied or ()), *added),
            }
        )


def _joined(later: Mapping[str, Any] | None, first: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if later is None and first is None else {**(later or {}), **(first or {})}
