"""Keys of the object store sink: those of Confluent's S3 sink."""

from __future__ import annotations

from typing import Final

from twinlog.config.security.places import leads_to_store
from twinlog.config.security.secrets import Secret
from twinlog.pipelines.settings import Setting, setting

_PARTITIONER: Final = "io.confluent.connect.storage.partitioner.DefaultPartitioner"


@setting
class PartitionerSettings:
    """Keys of Confluent's partitioners."""

    partitioner: str = Setting("partitioner.class", "DefaultPartitioner, FieldPartitioner, TimeBasedPartitioner, "
                               "HourlyPartitioner or DailyPartitioner", _PARTITIONER)  # fmt: skip
    fields: tuple[str, ...] = Setting("partition.field.name", "fields of FieldPartitioner", ())
    path_format: str = Setting("path.format", "folders of TimeBasedPartitioner, in Joda's letters", "")
    duration_ms: int = Setting("partition.duration.ms", "time that one folder covers", -1)
    timezone: str = Setting("timezone", "time zone of the folders", "UTC")
    locale: str = Setting("locale", "of no meaning here: folders are numbers", "")
    extractor: str = Setting("timestamp.extractor", "Wallclock, Record or RecordField", "Wallclock")
    time_field: str = Setting("timestamp.field", "field of the extractor RecordField", "timestamp")
    folder_delimiter: str = Setting("directory.delim", "between folders", "/")


@setting
class ObjectStoreSettings(PartitionerSettings):
    """Keys of io.confluent.connect.s3.S3SinkConnector; `store.url=file:///folder` writes to this machine."""

    bucket: str = Setting("s3.bucket.name", "bucket; not needed for a folder", "")
    region: str = Setting("s3.region", "region of the bucket", "us-west-2")
    url: str = Setting(
        "store.url",
        "address of the store, if it is not Amazon's; file:///folder for a folder",
        "",
        leads=leads_to_store,
    )
    access_key: str = Setting("aws.access.key.id", "who asks; empty: as the AWS libraries find it", "")
    secret_key: Secret = Setting("aws.secret.access.key", "password of the access key", Secret(""))
    topics_dir: str = Setting("topics.dir", "folder of all topics", "topics")
    flush_size: int = Setting("flush.size", "records in a file", at_least=1)
    rotate_ms: int = Setting(
        "rotate.interval.ms", "a file ends when a record is this much younger than its first one; -1: never", -1
    )
    schedule_ms: int = Setting(
        "rotate.schedule.interval.ms", "a file ends when it is that old by the clock; -1: never", -1
    )
    form: str = Setting("format.class", "JsonFormat, AvroFormat, ParquetFormat or CsvFormat", "JsonFormat")
    compression: str = Setting("s3.compression.type", "of JSON and CSV files", "none", choices=("none", "gzip"))
    parquet_codec: str = Setting("parquet.codec", "of Parquet files", "snappy")
    avro_codec: str = Setting("avro.codec", "of Avro files", "null")
    nulls: str = Setting(
        "behavior.on.null.values", "what a record without a value is", "fail", choices=("fail", "ignore")
    )
    file_delimiter: str = Setting("file.delim", "between the parts of a file's name", "+")
    zeros: int = Setting("filename.offset.zero.pad.width", "digits of the offset in a file's name", 10, at_least=0)
    part_size: int = Setting("s3.part.size", "of no meaning here: files are sent as a whole", 26_214_400)
    compatibility: str = Setting("schema.compatibility", "of no meaning here: another schema is another file", "NONE")
    storage: str = Setting("storage.class", "of no meaning here: store.url says where", "")
