"""Who writes: what an outbox needs to know of the owner of its shard. Pure; runs in the writer's loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinlog.flow.stopwatch import Stopwatch
from twinlog.model.names import TopicPartition
from twinlog.wire.fence import Producer


@dataclass
class Ownership:
    """A producer id and epoch, with what was done in that epoch so far."""

    producer: Producer
    # Next sequence number per target partition in this epoch, behind what is acknowledged.
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    # Target partitions with a batch of this epoch that was given up unanswered: it may still arrive. Only the marker of
    # the next owner shuts it out, so such a partition is never called closed (R2).
    adrift: set[TopicPartition] = field(default_factory=set)
    watch: Stopwatch = field(default_factory=Stopwatch)
