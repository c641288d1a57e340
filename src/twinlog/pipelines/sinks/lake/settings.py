"""Keys of the lake sinks: those of Iceberg's own sink for Kafka Connect, and ours for Delta."""

from __future__ import annotations

from collections.abc import Mapping

from twinlog.config.security.places import leads_to_lake
from twinlog.pipelines.settings import Setting, setting
from twinlog.pipelines.sinks.object_store.settings import PartitionerSettings


@setting
class LakeSettings(PartitionerSettings):
    """Keys that the Iceberg and the Delta sink share."""

    contract: str = Setting(
        "schema.contract",
        "for fields that the table lacks: evolve adds columns, freeze leaves the fields out, fail refuses the records",
        "auto",
        choices=("auto", "evolve", "freeze", "fail"),
    )
    most_rows: int = Setting("flush.size", "records in one commit of a task, at most", 200_000, at_least=1)


@setting
class IcebergSettings(LakeSettings):
    """Keys of org.apache.iceberg.connect.IcebergSinkConnector."""

    catalog: str = Setting("iceberg.catalog", "name of the catalog", "iceberg")
    catalog_keys: Mapping[str, str] = Setting(
        "iceberg.catalog.*",
        "where the catalog is: type (rest, sql, glue, hive), uri, warehouse, s3.endpoint …",
        {},
        leads=leads_to_lake,
    )
    tables: tuple[str, ...] = Setting("iceberg.tables", "tables, each with its namespace: shop.orders", ())
    dynamic: bool = Setting(
        "iceberg.tables.dynamic-enabled", "the field iceberg.tables.route-field names the table", default=False
    )
    route_field: str = Setting("iceberg.tables.route-field", "field whose value chooses the table", "")
    of_table: Mapping[str, str] = Setting("iceberg.table.*", "of one table: NAME.route-regex, NAME.partition-by", {})
    partition_by: str = Setting(
        "iceberg.tables.default-partition-by", "columns and transforms for new tables: country, day(at), bucket(id, 8)",
        "",
    )  # fmt: skip
    creates: bool = Setting("iceberg.tables.auto-create-enabled", "create missing tables", default=False)
    create_keys: Mapping[str, str] = Setting("iceberg.tables.auto-create-props.*", "properties of new tables", {})
    evolves: bool = Setting("iceberg.tables.evolve-schema-enabled", "add missing columns", default=False)
    interval_ms: int = Setting(
        "iceberg.control.commit.interval-ms", "shortest pause between two commits of a task", 60_000, at_least=0
    )
    branch: str = Setting("iceberg.tables.default-commit-branch", "only main can be written", "")
    cdc_field: str = Setting("iceberg.tables.cdc-field", "refused: rows are only added", "")
    upserts: bool = Setting("iceberg.tables.upsert-mode-enabled", "refused: rows are only added", default=False)
    id_columns: str = Setting("iceberg.tables.default-id-columns", "of no meaning here: rows are only added", "")
    optional: str = Setting(
        "iceberg.tables.schema-force-optional", "of no meaning here: new columns are always optional", ""
    )
    any_case: str = Setting("iceberg.tables.schema-case-insensitive", "of no meaning here: case counts", "")
    write_keys: Mapping[str, str] = Setting("iceberg.tables.write-props.*", "of no meaning here", {})
    control: Mapping[str, str] = Setting(
        "iceberg.control.*", "of no meaning here: each task commits by itself, without a control topic", {}
    )
    kafka: Mapping[str, str] = Setting("iceberg.kafka.*", "of no meaning here: there is no control topic", {})
    hadoop: Mapping[str, str] = Setting("iceberg.hadoop.*", "of no meaning here: no Hadoop is used", {})
    hadoop_folder: str = Setting("iceberg.hadoop-conf-dir", "of no meaning here: no Hadoop is used", "")


@setting
class DeltaSettings(LakeSettings):
    """Keys of the Delta sink."""

    url: str = Setting(
        "delta.table.url",
        "address of a table: file:///lake/${topic}, s3://bucket/${topic}, also az, abfss, gs",
        leads=leads_to_lake,
    )
    storage: Mapping[str, str] = Setting(
        "delta.storage.*",
        "options of the store: AWS_REGION, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID …",
        {},
        leads=leads_to_lake,
    )
    creates: bool = Setting("auto.create", "create missing tables", default=True)
    create_keys: Mapping[str, str] = Setting("delta.properties.*", "properties of new tables, without `delta.`", {})
    interval_ms: int = Setting(
        "delta.commit.interval.ms", "shortest pause between two commits of a task", 60_000, at_least=0
    )
