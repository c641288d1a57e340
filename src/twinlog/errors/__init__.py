"""Every error Twinlog raises on purpose.

    TwinlogError
    ├── UsageError                 the command or the file is wrong; nothing was started (exit code 2)
    │   ├── SettingsInvalid        one or more keys of the file
    │   └── ExtraMissing           a setting wants an extra that is not installed
    ├── LinkUnknown                a command names a link that the file does not have (exit code 2)
    ├── SelectionEmpty             an expression chooses nothing: there is no answer
    ├── SettingUnknown             a command names a setting that nobody knows
    ├── EvidenceBroken             a file of drill reports was changed
    ├── DrillStopped               a rehearsal could not be brought to its end; production is not concerned
    ├── LocalClusterError          the local brokers (demo, tests) did not do what was asked
    │   ├── JavaMissing
    │   ├── JarsUnavailable
    │   ├── PortsTaken
    │   ├── BrokerNotReady
    │   ├── ServerNotReady
    │   └── LocalClusterUnknown
    ├── DemoFailed                 the demo's story could not be told to its end
    ├── ClusterError               a broker or a whole cluster does not answer, or refuses us
    │   ├── ClusterUnreachable     (retriable)
    │   │   ├── BrokerAway         one broker, or the connection to it
    │   │   └── TokenUnavailable   the token endpoint gives us no token
    │   ├── KerberosTaken          the process logs in otherwise already
    │   ├── LoginUnavailable       a library that the login needs is not installed
    │   ├── BrokerTooOld
    │   ├── AccessDenied
    │   │   └── ClusterRightMissing
    │   ├── GroupWithoutOffsets    `start.from` names a group that has committed nothing
    │   ├── RecordsUnreadable      a topic that others wrote holds what is not in its format
    │   ├── RegistryTopicUnsafe    the topic of the schema registry would lose schemas
    │   ├── MirrorMakerRuns        the link cannot be taken over yet (retriable)
    │   ├── LinkToItself           both aliases lead to one cluster
    │   ├── LedgerOfOtherClusters  the ledger on the target was written for another cluster of this alias
    │   ├── TopicNotKnownYet       a broker has not heard of a topic that was just created (retriable)
    │   └── BrokerRefused          an error code of the protocol
    │       ├── LogFenced          another process took over the right to write a log
    │       ├── TopicUnknown
    │       ├── LeaderMissing      just created, or an election is under way (retriable)
    │       ├── TopicNameInvalid
    │       ├── TopicExists
    │       ├── PartitionsExist
    │       ├── AuthorizerMissing
    │       └── ConfigRefused
    ├── RegistryUnreachable        a schema registry does not answer (retriable)
    ├── RegistryRefused            a schema registry refuses what a command asks of it
    ├── LedgerMissing              no engine has ever run the link
    ├── LinkTaken                  another engine runs the link (exit code 4)
    ├── GroupUnknown               no group of that name has a position
    ├── GroupActive                a group has members: its positions are its own business
    ├── OffsetsNotWritten          a cluster did not take positions that were to be written
    ├── PositionUnknown            a position has no counterpart on the other side
    ├── EngineNotStarted           Spark did not start
    ├── EngineDied                 Spark's JVM is gone: start anew (retriable)
    ├── EngineBroke                one link's engine ended; it is started again (retriable)
    ├── OwnershipLost              another owner fenced us: stop writing, touch nothing (R10)
    ├── SwitchRefused              a switch was not begun; nothing was changed
    │   └── SwitchRunning          another one is under way
    ├── SwitchStopped              a switch stands at a step; it can be resumed
    │   └── SwitchTakenOver        somebody else continues with it
    ├── RedirectFailed             a hook did not send clients on
    ├── ParkedRefused              a parked record was not replayed or dropped
    ├── ConnectorError             what was asked of a connector over HTTP was not done
    │   ├── ConnectorUnknown
    │   ├── ConnectorExists
    │   ├── ConnectorRefused       the request or the settings in it are wrong
    │   ├── ConnectorReadOnly      it stands in the settings file
    │   ├── LinkForbidden          the role of who asks does not cover the link
    │   └── NotActive              another service of the group runs the links (retriable)
    ├── ChangesLost                a database no longer has changes that a source has not read
    ├── ChangesUnreadable          a database sends changes that the source does not know, or sends none
    ├── ServiceError               a running service did not do what a command asked of it
    │   ├── ServiceUnreachable     (retriable)
    │   └── ServiceRefused
    └── PartitionFault             one partition cannot keep the promise; the others continue (R7, R8)
        ├── OffsetGap              ├── SourceTruncated        ├── SourceTopicMissing   ├── SourceTopicRecreated
        ├── CorruptBatch           ├── UnknownCodec           ├── RecordTooLarge       ├── TargetTopicMissing
        ├── PartitionCountDiffers  ├── TimestampRefused       ├── TargetKeepsNoTimes   ├── TargetLogShrunk
        ├── LedgerDisagrees        ├── PartitionAccessDenied  ├── TargetTopicRefused   ├── PartitionRefused
        ├── TakeOverRefused        ├── TargetUnwritable       ├── LedgerUnwritable     ├── ParcelsMissing
        ├── ProvenanceUnknown      ├── RegistryNotMirrored    ├── TransformFailed      └── TransformsChanged

An error carries its facts in fields, a stable `code`, whether waiting may help (`retriable`), one sentence that starts
with the thing (`says`) and the way out (`remedy`). Errors survive pickling (executor to driver) and JSON (the ledger).
"""

from __future__ import annotations

from twinlog.errors.clusters import (
    AccessDenied,
    AuthorizerMissing,
    BrokerAway,
    BrokerRefused,
    BrokerTooOld,
    ClusterError,
    ClusterRightMissing,
    ClusterUnreachable,
    ConfigRefused,
    GroupWithoutOffsets,
    KerberosTaken,
    LeaderMissing,
    LedgerOfOtherClusters,
    LinkToItself,
    LogFenced,
    LoginUnavailable,
    MirrorMakerRuns,
    PartitionsExist,
    RecordsUnreadable,
    RegistryRefused,
    RegistryTopicUnsafe,
    RegistryUnreachable,
    TokenUnavailable,
    TopicExists,
    TopicNameInvalid,
    TopicNotKnownYet,
    TopicUnknown,
)
from twinlog.errors.connectors import (
    ChangesLost,
    ChangesUnreadable,
    ConnectorError,
    ConnectorExists,
    ConnectorReadOnly,
    ConnectorRefused,
    ConnectorUnknown,
    LinkForbidden,
    NotActive,
    ParkedRefused,
    ServiceError,
    ServiceRefused,
    ServiceUnreachable,
)
from twinlog.errors.faults import (
    STAYING,
    CorruptBatch,
    LedgerDisagrees,
    LedgerUnwritable,
    OffsetGap,
    ParcelsMissing,
    PartitionAccessDenied,
    PartitionCountDiffers,
    PartitionFault,
    PartitionRefused,
    ProvenanceUnknown,
    RecordTooLarge,
    RegistryNotMirrored,
    SourceTopicMissing,
    SourceTopicRecreated,
    SourceTruncated,
    TakeOverRefused,
    TargetKeepsNoTimes,
    TargetLogShrunk,
    TargetTopicMissing,
    TargetTopicRefused,
    TargetUnwritable,
    TimestampRefused,
    TransformFailed,
    TransformsChanged,
    UnknownCodec,
)
from twinlog.errors.links import (
    EngineBroke,
    EngineDied,
    EngineNotStarted,
    GroupActive,
    GroupUnknown,
    LedgerMissing,
    LinkTaken,
    OffsetsNotWritten,
    OwnershipLost,
    PositionUnknown,
)
from twinlog.errors.local import (
    BrokerNotReady,
    DemoFailed,
    JarsUnavailable,
    JavaMissing,
    LocalClusterError,
    LocalClusterUnknown,
    PortsTaken,
    ServerNotReady,
)
from twinlog.errors.root import TwinlogError, told
from twinlog.errors.switch import (
    RedirectFailed,
    SwitchRefused,
    SwitchRunning,
    SwitchStopped,
    SwitchTakenOver,
)
from twinlog.errors.usage import (
    DrillStopped,
    EvidenceBroken,
    ExtraMissing,
    Finding,
    LinkUnknown,
    SelectionEmpty,
    SettingsInvalid,
    SettingUnknown,
    UsageError,
)

__all__ = [
    "STAYING",
    "AccessDenied",
    "AuthorizerMissing",
    "BrokerAway",
    "BrokerNotReady",
    "BrokerRefused",
    "BrokerTooOld",
    "ChangesLost",
    "ChangesUnreadable",
    "ClusterError",
    "ClusterRightMissing",
    "ClusterUnreachable",
    "ConfigRefused",
    "ConnectorError",
    "ConnectorExists",
    "ConnectorReadOnly",
    "ConnectorRefused",
    "ConnectorUnknown",
    "CorruptBatch",
    "DemoFailed",
    "DrillStopped",
    "EngineBroke",
    "EngineDied",
    "EngineNotStarted",
    "EvidenceBroken",
    "ExtraMissing",
    "Finding",
    "GroupActive",
    "GroupUnknown",
    "GroupWithoutOffsets",
    "JarsUnavailable",
    "JavaMissing",
    "KerberosTaken",
    "LeaderMissing",
    "LedgerDisagrees",
    "LedgerMissing",
    "LedgerOfOtherClusters",
    "LedgerUnwritable",
    "LinkForbidden",
    "LinkTaken",
    "LinkToItself",
    "LinkUnknown",
    "LocalClusterError",
    "LocalClusterUnknown",
    "LogFenced",
    "LoginUnavailable",
    "MirrorMakerRuns",
    "NotActive",
    "OffsetGap",
    "OffsetsNotWritten",
    "OwnershipLost",
    "ParcelsMissing",
    "ParkedRefused",
    "PartitionAccessDenied",
    "PartitionCountDiffers",
    "PartitionFault",
    "PartitionRefused",
    "PartitionsExist",
    "PortsTaken",
    "PositionUnknown",
    "ProvenanceUnknown",
    "RecordTooLarge",
    "RecordsUnreadable",
    "RedirectFailed",
    "RegistryNotMirrored",
    "RegistryRefused",
    "RegistryTopicUnsafe",
    "RegistryUnreachable",
    "SelectionEmpty",
    "ServerNotReady",
    "ServiceError",
    "ServiceRefused",
    "ServiceUnreachable",
    "SettingUnknown",
    "SettingsInvalid",
    "SourceTopicMissing",
    "SourceTopicRecreated",
    "SourceTruncated",
    "SwitchRefused",
    "SwitchRunning",
    "SwitchStopped",
    "SwitchTakenOver",
    "TakeOverRefused",
    "TargetKeepsNoTimes",
    "TargetLogShrunk",
    "TargetTopicMissing",
    "TargetTopicRefused",
    "TargetUnwritable",
    "TimestampRefused",
    "TokenUnavailable",
    "TopicExists",
    "TopicNameInvalid",
    "TopicNotKnownYet",
    "TopicUnknown",
    "TransformFailed",
    "TransformsChanged",
    "TwinlogError",
    "UnknownCodec",
    "UsageError",
    "told",
]
