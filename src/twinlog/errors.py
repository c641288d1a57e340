"""Every error Twinlog raises on purpose.

    TwinlogError
    ├── UsageError                 the command or the file is wrong; nothing was started (exit code 2)
    │   ├── SettingsInvalid        one or more keys of the file
    ├── LinkUnknown                a command names a link that the file does not have (exit code 2)
    ├── SettingUnknown             a command names a setting that nobody knows
    ├── EvidenceBroken             a file of drill reports was changed
    ├── DrillStopped               a rehearsal could not be brought to its end; production is not concerned
    ├── LocalClusterError          the local brokers (demo, tests) did not do what was asked
    │   ├── JavaMissing
    │   ├── JarsUnavailable
    │   ├── BrokerNotReady
    │   └── LocalClusterUnknown
    ├── DemoFailed                 the demo's story could not be told to its end
    ├── ClusterError               a broker or a whole cluster does not answer, or refuses us
    │   ├── ClusterUnreachable     (retriable)
    │   │   └── TokenUnavailable   the token endpoint gives us no token
    │   ├── LoginUnavailable       a library that the login needs is not installed
    │   ├── AccessDenied
    │   │   └── ClusterRightMissing
    │   ├── RecordsUnreadable      a topic that others wrote holds what is not in its format
    │   ├── MirrorMakerRuns        the link cannot be taken over yet (retriable)
    │   ├── LinkToItself           both aliases lead to one cluster
    │   ├── TopicNotKnownYet       a broker has not heard of a topic that was just created (retriable)
    │   └── BrokerRefused          an error code of the protocol
    │       ├── TopicUnknown
    │       ├── TopicNameInvalid
    │       ├── TopicExists
    │       ├── PartitionsExist
    │       ├── AuthorizerMissing
    │       └── ConfigRefused
    ├── LedgerMissing              no engine has ever run the link
    ├── GroupUnknown               no group of that name has a position
    ├── GroupActive                a group has members: its positions are its own business
    ├── OffsetsNotWritten          a cluster did not take positions that were to be written
    ├── PositionUnknown            a position has no counterpart on the other side
    ├── EngineNotStarted           Spark did not start
    ├── EngineDied                 Spark's JVM is gone: start anew (retriable)
    ├── OwnershipLost              another owner fenced us: stop writing, touch nothing (R10)
    ├── SwitchRefused              a switch was not begun; nothing was changed
    │   └── SwitchRunning          another one is under way
    ├── SwitchStopped              a switch stands at a step; it can be resumed
    │   └── SwitchTakenOver        somebody else goes on with it
    ├── RedirectFailed             a hook did not send clients on
    ├── ConnectorError             what was asked of a connector over HTTP was not done
    │   ├── ConnectorUnknown
    │   ├── ConnectorExists
    │   ├── ConnectorRefused       the request or the settings in it are wrong
    │   ├── ConnectorReadOnly      it stands in the settings file
    │   └── NotActive              another service of the group runs the links (retriable)
    └── PartitionFault             one partition cannot keep the promise; the others go on (R7, R8)
        ├── OffsetGap              ├── SourceTruncated        ├── SourceTopicMissing   ├── SourceTopicRecreated
        ├── CorruptBatch           ├── UnknownCodec           ├── RecordTooLarge       ├── TargetTopicMissing
        ├── PartitionCountDiffers  ├── TimestampRefused       ├── TargetKeepsNoTimes   ├── TargetLogShrunk
        ├── LedgerDisagrees        ├── PartitionAccessDenied  ├── TargetTopicRefused   ├── SourceUnreadable
        ├── TakeOverRefused        └── ProvenanceUnknown

An error carries its facts in fields, a stable `code`, whether waiting may help (`retriable`), one sentence that starts
with the thing (`says`) and the way out (`remedy`). Errors survive pickling (executor to driver) and JSON (the ledger).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple


@dataclass(eq=False)
class TwinlogError(Exception):
    """Base of all: subclasses are dataclasses whose fields fill the sentences `says` and `remedy`."""

    code: ClassVar[str] = "TWINLOG"
    says: ClassVar[str] = "something went wrong"
    remedy: ClassVar[str] = ""
    retriable: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """The fields of this error as plain values, for JSON and for the ledger."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        return self.says.format(**self.facts())

    def way_out(self) -> str:
        """What the operator can do about it; empty when there is nothing to do but wait."""
        return self.remedy.format(**self.facts())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), tuple(self.facts().values()))


# --- the command or the file is wrong ---------------------------------------------------------------------------------


@dataclass(eq=False)
class UsageError(TwinlogError):
    """Nothing was started: the operator mends the command or the file and tries again."""

    code = "USAGE"
    says = "{problem}"

    problem: str


class Finding(NamedTuple):
    """One remark about a settings file: where, about which key, one sentence. Never a secret (R12)."""

    level: Literal["info", "warning", "error"]
    file: str
    line: int | None
    key: str | None
    sentence: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.sentence}" if self.key is None else f"{place}: {self.key}: {self.sentence}"


@dataclass(eq=False)
class SettingsInvalid(UsageError):
    """Keys of the settings file are missing or wrong: all of them, not only the first."""

    code = "SETTINGS_INVALID"
    remedy = "Mend the file; `twinlog validate` shows everything that it resolves to."

    findings: tuple[Finding, ...]


@dataclass(eq=False)
class LinkUnknown(TwinlogError):
    """A command names a link that the file does not define or does not enable."""

    code = "LINK_UNKNOWN"
    says = "{link}: no such enabled link in {file}; it has: {known}"
    remedy = "Check the name, or enable it with `{link}.enabled = true`."

    link: str
    file: str
    known: str


@dataclass(eq=False)
class SettingUnknown(TwinlogError):
    """A command asks about a setting that is neither ours nor MirrorMaker 2's nor a Kafka client's."""

    code = "SETTING_UNKNOWN"
    says = "{name}: no such setting; near it are: {near}"
    remedy = "Write it as the file does, or by its plain name; docs/reference/settings.md lists all."

    name: str
    near: str


@dataclass(eq=False)
class DrillStopped(TwinlogError):
    """A rehearsal got stuck. What it made is deleted; production is not concerned."""

    code = "DRILL_STOPPED"
    says = "{link}: the drill stopped: {problem}"
    remedy = "`twinlog doctor` says what stands in the way; the same would stop a real switch."

    link: str
    problem: str


@dataclass(eq=False)
class EvidenceBroken(TwinlogError):
    """The chain of drill reports does not hold: nothing is added to it."""

    code = "EVIDENCE_BROKEN"
    says = "{file}: {problem}"
    remedy = "Keep the file as it is for whoever must explain it, and give a new one with --report."

    file: str
    problem: str


# --- connectors over HTTP ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class ConnectorError(TwinlogError):
    """What was asked of a connector was not done; nothing was changed."""

    code = "CONNECTOR"
    says = "{connector}: {problem}"

    connector: str
    problem: str


@dataclass(eq=False)
class ConnectorUnknown(ConnectorError):
    """There is no such connector, task or logger. The sentence is Connect's: its users look for it."""

    code = "CONNECTOR_UNKNOWN"
    says = "{problem}"


@dataclass(eq=False)
class ConnectorExists(ConnectorError):
    """The name is taken."""

    code = "CONNECTOR_EXISTS"
    says = "Connector {connector} already exists"


@dataclass(eq=False)
class ConnectorRefused(ConnectorError):
    """The request, or the settings in it, cannot be taken."""

    code = "CONNECTOR_REFUSED"
    says = "{problem}"


@dataclass(eq=False)
class ConnectorReadOnly(ConnectorError):
    """A link of the settings file was to be changed or deleted over HTTP."""

    code = "CONNECTOR_READ_ONLY"
    says = "{connector}: this link stands in {problem} and is changed there; over HTTP it can be paused and resumed"
    remedy = "Change the file: the service notices within seconds."


@dataclass(eq=False)
class NotActive(ConnectorError):
    """Only the service that runs the links may change them, and it cannot be asked at the moment."""

    code = "NOT_ACTIVE"
    says = "{connector}: {problem}"
    remedy = "Ask again in a few seconds."
    retriable = True


# --- the local brokers (demo, tests) ----------------------------------------------------------------------------------


@dataclass(eq=False)
class LocalClusterError(TwinlogError):
    """The local brokers did not do what was asked; no cluster of the operator is concerned."""

    code = "LOCAL_CLUSTER"


@dataclass(eq=False)
class JavaMissing(LocalClusterError):
    """Neither Spark nor a local broker can run: no Java 17 or newer was found."""

    code = "JAVA_MISSING"
    says = "java: no runtime of version 17 or newer was found; looked at: {looked_at}"
    remedy = "Install one and set JAVA_HOME, or run: pip install 'twinlog[java]'"

    looked_at: str


@dataclass(eq=False)
class JarsUnavailable(LocalClusterError):
    """Kafka's jars are not in the cache and could not be fetched."""

    code = "JARS_UNAVAILABLE"
    says = "{jar_set}: its jars could not be fetched from {repository}: {problem}"
    remedy = "Check the way to {repository}; set HTTPS_PROXY for a proxy, TWINLOG_MAVEN_URL for another repository."
    retriable = True

    jar_set: str
    repository: str
    problem: str


@dataclass(eq=False)
class BrokerNotReady(LocalClusterError):
    """A local broker ended, or did not join its cluster in time. The end of its log is the evidence."""

    code = "BROKER_NOT_READY"
    says = "{cluster} broker {node_id}: {problem}; its log {log} ends with:\n{log_tail}"
    remedy = "Read {log}; `twinlog local down {cluster} --wipe` starts over."

    cluster: str
    node_id: int
    problem: str
    log: str
    log_tail: str


@dataclass(eq=False)
class LocalClusterUnknown(LocalClusterError):
    """A command names a local cluster that was never started in this folder."""

    code = "LOCAL_CLUSTER_UNKNOWN"
    says = "{folder}: no local cluster lives there"
    remedy = "`twinlog local status` lists the clusters; `twinlog local up NAME` makes one."

    folder: str


@dataclass(eq=False)
class DemoFailed(TwinlogError):
    """The demo's engine ended by itself or took too long; no cluster of the operator is concerned."""

    code = "DEMO_FAILED"
    says = "demo: {problem}; the engine's log ends with:\n{log_tail}"
    remedy = "Read all of {log}; on a busy machine, try again with a lower --rate."

    problem: str
    log: str
    log_tail: str


# --- clusters ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class ClusterError(TwinlogError):
    """A broker or a whole cluster does not answer, or refuses us."""

    code = "CLUSTER"
    says = "{cluster}: {problem}"

    cluster: str
    problem: str


@dataclass(eq=False)
class ClusterUnreachable(ClusterError):
    """Nobody answers at the bootstrap addresses. Not a fault: we wait and go on by ourselves (R9)."""

    code = "CLUSTER_UNREACHABLE"
    says = "{cluster}: no broker answers: {problem}"
    remedy = "Check that the cluster runs and that its address is right; Twinlog keeps trying."
    retriable = True


@dataclass(eq=False)
class TokenUnavailable(ClusterUnreachable):
    """The brokers may be well, but without a token there is no talking to them. We wait, as for a broker (R9)."""

    code = "TOKEN_UNAVAILABLE"
    says = "{cluster}: no token: {problem}"
    remedy = "Check sasl.oauthbearer.token.endpoint.url, client id and secret; Twinlog keeps trying."


@dataclass(eq=False)
class LoginUnavailable(ClusterError):
    """The way to log in that the file asks for needs a library that is not installed here."""

    code = "LOGIN_UNAVAILABLE"
    says = "{cluster}: {problem}"
    remedy = (
        "Install Kerberos, then `pip install gssapi` and `pip install --no-binary confluent-kafka confluent-kafka` "
        "against a librdkafka with SASL; or choose SCRAM or OAUTHBEARER."
    )


@dataclass(eq=False)
class AccessDenied(ClusterError):
    """The cluster knows us and says no."""

    code = "ACCESS_DENIED"
    says = "{cluster}: access denied: {problem}"
    remedy = "Grant the right to Twinlog's principal on {cluster}, or correct its credentials."


@dataclass(eq=False)
class RecordsUnreadable(ClusterError):
    """A topic that MirrorMaker 2 or an application wrote holds records that are not in its format."""

    code = "RECORDS_UNREADABLE"
    says = "{cluster}: {problem}"
    remedy = "Look at the record with a console consumer; an answer without it might be wrong, so none is given."


@dataclass(eq=False)
class LinkToItself(ClusterError):
    """Source and target are one cluster, and the names are the same: each topic would be copied onto itself."""

    code = "LINK_TO_ITSELF"
    says = "{cluster}: source and target are the same cluster (id {problem}), so topics would be copied onto themselves"
    remedy = "Correct the bootstrap.servers of one of the two; to copy within a cluster give the copies other names."


@dataclass(eq=False)
class TopicNotKnownYet(ClusterError):
    """A broker's metadata lags. Whoever asked it would be told that the topic does not exist."""

    code = "TOPIC_NOT_KNOWN_YET"
    says = "{cluster}: broker {node} does not know {problem} yet"
    remedy = "Nothing to do: Twinlog waits until all brokers know it."
    retriable = True

    node: int


@dataclass(eq=False)
class MirrorMakerRuns(ClusterError):
    """MirrorMaker 2 still copies what is to be taken over: two mirrors would write every record twice."""

    code = "MIRRORMAKER_RUNS"
    says = "{cluster}: MirrorMaker 2 still runs: {problem}"
    remedy = "Stop it; a killed one is forgotten within seconds. Twinlog waits and goes on by itself."
    retriable = True


@dataclass(eq=False)
class ClusterRightMissing(AccessDenied):
    """We are let in, but lack one right on the cluster as a whole."""

    code = "CLUSTER_RIGHT_MISSING"
    says = "{cluster}: {problem} is denied, {operation} on Cluster is needed"
    remedy = "Grant {operation} on Cluster to Twinlog's principal on {cluster}."

    operation: str


@dataclass(eq=False)
class BrokerRefused(ClusterError):
    """The protocol answered with an error code that has no better translation."""

    code = "BROKER_REFUSED"
    says = "{cluster}: the broker refused: {problem}"


@dataclass(eq=False)
class TopicUnknown(BrokerRefused):
    """The topic or the partition asked about is not there (any more, or not yet)."""

    code = "TOPIC_UNKNOWN"
    says = "{cluster}: no such topic or partition: {problem}"


@dataclass(eq=False)
class TopicNameInvalid(BrokerRefused):
    """No topic can have that name: too long, or a character that Kafka does not allow."""

    code = "TOPIC_NAME_INVALID"


@dataclass(eq=False)
class TopicExists(BrokerRefused):
    """Somebody else created the topic first."""

    code = "TOPIC_EXISTS"


@dataclass(eq=False)
class PartitionsExist(BrokerRefused):
    """The topic has at least as many partitions as it was to grow to."""

    code = "PARTITIONS_EXIST"


@dataclass(eq=False)
class ConfigRefused(BrokerRefused):
    """The broker does not take a topic config: it does not know the name, or forbids the value."""

    code = "CONFIG_REFUSED"
    says = "{cluster}: the broker refused a topic config: {problem}"


@dataclass(eq=False)
class AuthorizerMissing(BrokerRefused):
    """The cluster has no authorizer: everybody may do everything, and there are no ACLs."""

    code = "AUTHORIZER_MISSING"
    says = "{cluster}: it has no authorizer: {problem}"


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
    remedy = "Mend the cause and run the same command again: what is written already stays as it is."

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
    says = "spark: the engine is gone: {problem}"
    remedy = "Twinlog starts it anew by itself; look for an out-of-memory kill if it happens again."
    retriable = True

    problem: str


@dataclass(eq=False)
class EngineNotStarted(TwinlogError):
    """Spark did not start."""

    code = "ENGINE_NOT_STARTED"
    says = "spark: it did not start: {problem}\n{log}"
    remedy = "Check JAVA_HOME (17 or newer), memory, and what was given with --master and --spark-conf."

    problem: str
    log: str


# --- the switch -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class SwitchRefused(TwinlogError):
    """A switch was not begun: nothing was changed on either cluster."""

    code = "SWITCH_REFUSED"
    says = "{link}: {reason}; nothing was changed"
    remedy = "{way}"

    link: str
    reason: str
    way: str


@dataclass(eq=False)
class SwitchRunning(SwitchRefused):
    """Another switch of the same pair of clusters is under way."""

    code = "SWITCH_RUNNING"


@dataclass(eq=False)
class SwitchStopped(TwinlogError):
    """A switch stands at a step that did not work. What was done stays done and is in the journal."""

    code = "SWITCH_STOPPED"
    says = "{link}: the step {step} did not work: {reason}"
    remedy = "Mend the cause, then `twinlog switch resume {link}` goes on at this step. {way}"

    link: str
    step: str
    reason: str
    way: str = ""


@dataclass(eq=False)
class SwitchTakenOver(SwitchStopped):
    """Another process goes on with this switch; this one must not touch anything any more (R10)."""

    code = "SWITCH_TAKEN_OVER"
    says = "{link}: at the step {step} somebody else took the switch over: {reason}"
    remedy = "Nothing to do here; `twinlog switch status {link}` shows how it goes on."


@dataclass(eq=False)
class RedirectFailed(TwinlogError):
    """A hook did not do its work, or what it wrote was not read back."""

    code = "REDIRECT_FAILED"
    says = "hook {hook}: {reason}"
    remedy = "Mend what it talks to, or its settings (redirects.{hook}.*)."

    hook: str
    reason: str


# --- one partition cannot keep the promise ----------------------------------------------------------------------------


@dataclass(eq=False)
class PartitionFault(TwinlogError):
    """One partition is FAULTED; every other one goes on (R7, R8). The fields are the evidence."""

    code = "PARTITION_FAULT"

    topic: str
    partition: int


@dataclass(eq=False)
class OffsetGap(PartitionFault):
    """The source deleted records before they were copied (retention, or DeleteRecords)."""

    code = "OFFSET_GAP"
    says = "{topic}-{partition}: offsets {wanted}..{earliest} (end exclusive) were deleted before they were copied"
    remedy = "Raise retention on the source; to record the loss and go on, set `on.gap = skip` on this link."

    wanted: int
    earliest: int


@dataclass(eq=False)
class SourceTruncated(PartitionFault):
    """The source log ends before our position: it lost records that we hold (unclean election, restored disk)."""

    code = "SOURCE_TRUNCATED"
    says = "{topic}-{partition}: the source ends at {latest}, but offsets up to {wanted} were already copied"
    remedy = "The target holds records the source lost. Compare both, then recreate the target topic or keep it aside."

    wanted: int
    latest: int


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
    remedy = "Repair the source replica (another replica may be sound); the link goes on by itself when it reads well."

    offset: int
    problem: str


@dataclass(eq=False)
class UnknownCodec(PartitionFault):
    """A batch is compressed with something neither we nor Kafka know."""

    code = "UNKNOWN_CODEC"
    says = "{topic}-{partition}: the batch at offset {offset} names compression codec {codec}, which nobody knows"
    remedy = "Find out who wrote it; upgrade Twinlog if Kafka gained a codec."

    offset: int
    codec: int


@dataclass(eq=False)
class RecordTooLarge(PartitionFault):
    """One record alone exceeds what the target accepts."""

    code = "RECORD_TOO_LARGE"
    says = "{topic}-{partition}: the record at source offset {offset} needs {size} bytes, the target takes {limit}"
    remedy = "Raise `max.message.bytes` of the target topic above {size}; the link goes on by itself."

    offset: int
    size: int
    limit: int


@dataclass(eq=False)
class TargetTopicMissing(PartitionFault):
    """Somebody deleted the target topic while we were mirroring into it."""

    code = "TARGET_TOPIC_MISSING"
    says = "{topic}-{partition}: the target topic was deleted after {copied_to} was reached"
    remedy = "Run `twinlog link reset {topic}` to mirror it again from the start, or exclude the topic."

    copied_to: int


@dataclass(eq=False)
class TargetTopicRefused(PartitionFault):
    """The target topic is not there and the target does not let us create it."""

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
    remedy = "Set `message.timestamp.type=CreateTime` on the target topic; the link goes on by itself."


@dataclass(eq=False)
class TargetLogShrunk(PartitionFault):
    """The target log ends before what the ledger says we wrote."""

    code = "TARGET_LOG_SHRUNK"
    says = (
        "{topic}-{partition}: the ledger says target offset {expected} was reached, but the target log ends at {found}"
    )
    remedy = (
        "The target lost records (unclean election?) or was recreated. `twinlog link reset {topic}` mirrors it again."
    )

    expected: int
    found: int


@dataclass(eq=False)
class LedgerDisagrees(PartitionFault):
    """What the target holds behind the ledger is not what the source says we should have written."""

    code = "LEDGER_DISAGREES"
    says = "{topic}-{partition}: {problem}"
    remedy = "Keep both topics and report this; `twinlog link reset {topic}` mirrors it again from the start."

    problem: str


@dataclass(eq=False)
class PartitionAccessDenied(PartitionFault):
    """One topic is closed to us."""

    code = "PARTITION_ACCESS_DENIED"
    says = "{topic}-{partition}: {cluster} denies {operation}"
    remedy = "Grant {operation} on the topic to Twinlog's principal; the link goes on by itself."

    cluster: str
    operation: str


@dataclass(eq=False)
class ProvenanceUnknown(PartitionFault):
    """Nobody can say who wrote a batch of the source: copied, it might come home."""

    code = "PROVENANCE_UNKNOWN"
    says = "{topic}-{partition}: whether producer {producer_id} is a link from the target cannot be told: {problem}"
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
    """What MirrorMaker 2 noted and what the logs hold do not fit: going on would lose or double records."""

    code = "TAKE_OVER_REFUSED"
    says = "{topic}-{partition}: MirrorMaker 2 noted {last} as the last offset it copied, but {problem}"
    remedy = (
        "Compare both topics with `twinlog import mm2`. Then set `mm2.takeover = trust` to go on behind {last} all the "
        "same, or `off` to put a copy of everything behind what is there, or delete the target topic to begin anew."
    )

    last: int
    problem: str
