"""What an application imports: what arrives from other clusters, translated positions, consumer hooks. No Spark.

from twinlog.client import MirrorClient

west = MirrorClient({"bootstrap.servers": "west:9092"})
for partition, position in west.translate_offsets("billing", source="east").items():
    ...
"""

from twinlog.client.checkpoints import TranslatedOffset
from twinlog.client.consumer_hooks import ConsumerTimestamps
from twinlog.client.mirror_client import MirrorClient
from twinlog.client.timestamps import TimestampTranslation
from twinlog.errors import ClusterError, RecordsUnreadable, SettingsInvalid, TopicUnknown, TwinlogError
from twinlog.model.ledger.translation import AtOrBefore, Exact, Translation, Untranslatable
from twinlog.model.names import TopicPartition

__all__ = [
    "AtOrBefore",
    "ClusterError",
    "ConsumerTimestamps",
    "Exact",
    "MirrorClient",
    "RecordsUnreadable",
    "SettingsInvalid",
    "TimestampTranslation",
    "TopicPartition",
    "TopicUnknown",
    "TranslatedOffset",
    "Translation",
    "TwinlogError",
    "Untranslatable",
]
