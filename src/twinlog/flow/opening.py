"""Opening the batches of one partition: checked first, and what is wrong is a fault of that partition."""

from __future__ import annotations

from twinlog.errors import CorruptBatch, UnknownCodec
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import CODECS, CutBatch
from twinlog.wire.codec import OpenRecord, legacy_checksum_holds, legacy_codec, open_batch


def check_batch(partition: TopicPartition, batch: CutBatch) -> None:
    """Raise PartitionFault unless the checksum holds and the compression is known."""
    header = batch.header
    holds = batch.checksum_holds if header.magic == 2 else legacy_checksum_holds(batch.records)
    if not holds:
        raise CorruptBatch(*partition, header.base_offset, "its checksum does not match")
    if (codec := codec_of(batch)) >= len(CODECS):
        raise UnknownCodec(*partition, header.base_offset, codec)


def records_of(partition: TopicPartition, batch: CutBatch) -> list[OpenRecord]:
    """Its records. Raises CorruptBatch."""
    try:
        return open_batch(batch.data)
    except Exception as error:  # aiokafka raises whatever its decompressor raises
        problem = f"it cannot be decoded: {error}"
        raise CorruptBatch(*partition, batch.header.base_offset, problem) from error


def codec_of(batch: CutBatch) -> int:
    """Its compression, whatever its format."""
    return batch.header.codec if batch.header.magic == 2 else legacy_codec(batch.records)
