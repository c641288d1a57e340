"""A link as a whole: its ledger, its engine, positions in it."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class LedgerMissing(TwinlogError):
    """There is nothing to read about a link: no engine has ever run it."""

    code = "LEDGER_MISSING"
    says = "{link}: its ledger {topic} is not on {cluster}: no engine has ever run this link"
    remedy = "Start it with `twinlog run`."

    link: str
    topic: str
    cluster: str


@dataclass(eq=False)
class LinkTaken(TwinlogError):
    """Another engine runs the link, and `--take-over` was not given. Nothing was started."""

    code = "LINK_TAKEN"
    says = "{link}: {owner} runs this link now"
    remedy = "Stop that one first, or take the link from it with `twinlog run --take-over`."

    link: str
    owner: str


@dataclass(eq=False)
class GroupUnknown(TwinlogError):
    """A command asks about groups that are not there, not selected, or never committed anything."""

    code = "GROUP_UNKNOWN"
    says = "{group}: no selected group of that name has a position on {cluster}"
    remedy = "Check the name, and `groups` and `groups.exclude` of the link."

    group: str
    cluster: str


@dataclass(eq=False)
class GroupActive(TwinlogError):
    """Positions of a group with members are not touched: a running consumer would overwrite them at once."""

    code = "GROUP_ACTIVE"
    says = "{group}: it is active on {cluster} ({state}); its members: {members}"
    remedy = "Stop these consumers first; a crashed one is forgotten after its session.timeout.ms."

    group: str
    cluster: str
    state: str
    members: str


@dataclass(eq=False)
class OffsetsNotWritten(TwinlogError):
    """Some of the positions were refused; the others are written."""

    code = "OFFSETS_NOT_WRITTEN"
    says = "{cluster}: these positions were not taken: {problem}"
    remedy = "Repair the cause and run the same command again: what is written already stays as it is."

    cluster: str
    problem: str


@dataclass(eq=False)
class PositionUnknown(TwinlogError):
    """A position that was asked for cannot be translated."""

    code = "POSITION_UNKNOWN"
    says = "{partition}: offset {offset} cannot be translated: {reason}"

    partition: str
    offset: int
    reason: str


@dataclass(eq=False)
class OwnershipLost(TwinlogError):
    """Another engine took over this shard and fenced us (R10)."""

    code = "OWNERSHIP_LOST"
    says = "{link} shard {shard}: another engine owns it now"
    remedy = "Nothing to do if you started a second engine on purpose; otherwise stop one of the two."

    link: str
    shard: int


@dataclass(eq=False)
class EngineDied(TwinlogError):
    """Spark itself is gone (its JVM was killed): this process must start anew."""

    code = "ENGINE_DIED"
    says = "spark: its JVM is gone: {problem}"
    remedy = "Twinlog starts it again by itself; look for an out-of-memory kill if it happens again."
    retriable = True

    problem: str


@dataclass(eq=False)
class EngineBroke(TwinlogError):
    """The engine of one link ended because of a defect in Twinlog; Spark and the other links continue (R8)."""

    code = "ENGINE_BROKE"
    says = "{link}: its engine ended: {problem}"
    remedy = "Twinlog starts it again by itself; the log says more. Please report it."
    retriable = True

    link: str
    problem: str


@dataclass(eq=False)
class EngineNotStarted(TwinlogError):
    """Spark did not start."""

    code = "ENGINE_NOT_STARTED"
    says = "spark: it did not start: {problem}\n{log}"
    remedy = "Check JAVA_HOME (17 or newer), memory, and what was given with --master and --spark-conf."

    problem: str
    log: str
