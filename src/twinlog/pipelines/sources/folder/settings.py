"""Keys of the folder source: those of the spooldir connectors."""

from __future__ import annotations

from twinlog.config.security.places import leads_to_path
from twinlog.pipelines.settings import Setting, setting


@setting
class FolderSettings:
    """Keys of com.github.jcustenborder.kafka.connect.spooldir.SpoolDir…SourceConnector."""

    path: str = Setting("input.path", "folder with the files", leads=leads_to_path)
    pattern: str = Setting("input.file.pattern", "regular expression that the whole name must match", ".*")
    topic: str = Setting("topic", "where rows go")
    form: str = Setting("format", "what the files are; the class name of a spooldir connector says it as well", "",
                        choices=("", "csv", "json", "text", "parquet", "avro", "xml"))  # fmt: skip
    plugin: str = Setting("connector.class", "class of the connector", "")
    columns: str = Setting("columns", "names and types of CSV, JSON or XML: id INT, name STRING; empty: all texts", "")
    header: bool = Setting("csv.first.row.as.header", "the first line has the names", default=True)
    separator: int = Setting("csv.separator.char", "number of the character between values", 44, at_least=1)
    row_tag: str = Setting("xml.row.tag", "name of the element of one row", "row")
    batch: int = Setting("batch.size", "rows at once", 1000, at_least=1)
    min_age_ms: int = Setting("file.minimum.age.ms", "younger files are left alone: somebody may still write", 0)
    cleanup: str = Setting("cleanup.policy", "what becomes of a file that is stored", "MOVE",
                           choices=("MOVE", "DELETE", "NONE"))  # fmt: skip
    finished: str = Setting("finished.path", "where MOVE puts files", "", leads=leads_to_path)
    broken: str = Setting("error.path", "where files go that cannot be read", "", leads=leads_to_path)
    halt: bool = Setting("halt.on.error", "stop at a file that cannot be read", default=True)
