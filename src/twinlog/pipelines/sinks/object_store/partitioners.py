"""In which folder a record belongs: by partition, field or time, as Confluent's partitioners say. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from twinlog.pipelines.api import Finding, SettingsRefused, SinkBatch
from twinlog.pipelines.sinks.object_store.settings import PartitionerSettings

_HOURLY: Final = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
_DAILY: Final = "'year'=YYYY/'month'=MM/'day'=dd"
_LETTERS: Final = {
    "YYYY": "%Y", "yyyy": "%Y", "yy": "%y", "YY": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S",
    "DDD": "%j", "ww": "%V", "xxxx": "%G",
}  # fmt: skip
_TOKEN: Final = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']")
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000


class Unplaced(Exception):
    """A record has no field or no time to go by."""


Folders = Callable[[SinkBatch], Sequence[str | Unplaced]]


def partitioner(s: PartitionerSettings, now_ms: Callable[[], int]) -> Folders:
    """A function from a batch to the folder of each row. Raises SettingsRefused."""
    name = s.partitioner.rpartition(".")[2]
    if name == "DefaultPartitioner":
        return lambda batch: [f"partition={number}" for number in batch.rows.column("partition").to_pylist()]
    if name == "FieldPartitioner":
        if not s.fields:
            raise SettingsRefused([Finding("partition.field.name", "FieldPartitioner needs it")])
        return lambda batch: [_by_field(row, s) for row in rows_of(batch)]
    formats = {"TimeBasedPartitioner": s.path_format, "HourlyPartitioner": _HOURLY, "DailyPartitioner": _DAILY}
    durations = {"HourlyPartitioner": _HOUR_MS, "DailyPartitioner": _DAY_MS}
    if name not in formats:
        known = ", ".join(["DefaultPartitioner", "FieldPartitioner", *formats])
        raise SettingsRefused([Finding("partitioner.class", f"{name} is not one of {known}")])
    if not formats[name]:
        raise SettingsRefused([Finding("path.format", "TimeBasedPartitioner needs it")])
    form = strftime_of(formats[name])
    span = durations.get(name, s.duration_ms if s.duration_ms > 0 else _MINUTE_MS)
    try:
        zone = ZoneInfo(s.timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise SettingsRefused([Finding("timezone", f"{s.timezone}: no such time zone")]) from error
    times = _times(s, now_ms)
    cache: dict[int, str] = {}

    def folder(ms: int | Unplaced) -> str | Unplaced:
        if isinstance(ms, Unplaced):
            return ms
        begin = ms - ms % span
        if begin not in cache:
            cache[begin] = datetime.fromtimestamp(begin / 1000, UTC).astimezone(zone).strftime(form)
        return cache[begin]

    return lambda batch: [folder(time) for time in times(batch)]


def _times(s: PartitionerSettings, now_ms: Callable[[], int]) -> Callable[[SinkBatch], Sequence[int | Unplaced]]:
    name = s.extractor.rpartition(".")[2].removesuffix("TimestampExtractor")
    if name == "Wallclock":
        return lambda batch: [now_ms()] * len(batch)
    if name == "Record":
        return lambda batch: [
            Unplaced("the record has no timestamp") if timestamp is None else int(timestamp)
            for timestamp in batch.rows.column("timestamp").to_pylist()
        ]
    if name == "RecordField":
        return lambda batch: [_time_of(row, s.time_field) for row in rows_of(batch)]
    raise SettingsRefused(
        [Finding("timestamp.extractor", f"{s.extractor} is not one of Wallclock, Record, RecordField")]
    )


def rows_of(batch: SinkBatch) -> list[Any]:
    """Values as Python objects; documents are parsed."""
    return [json.loads(value) if isinstance(value, str) else value for value in batch.values.to_pylist()]


def _field(row: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(row, dict) or row.get(name) is None:
            raise Unplaced(f"the record has no field {path}")
        row = row[name]
    return row


def _by_field(row: Any, s: PartitionerSettings) -> str | Unplaced:
    try:
        parts = [f"{name}={_shown(_field(row, name))}" for name in s.fields]
    except Unplaced as error:
        return error
    return s.folder_delimiter.join(parts)


def _shown(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("/", "%2F")  # a value is one folder, not several


def _time_of(row: Any, path: str) -> int | Unplaced:
    try:
        value = _field(row, path)
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
        return int(value)
    except Unplaced as error:
        return error
    except (TypeError, ValueError):
        return Unplaced(f"the field {path} holds no time")


def strftime_of(path_format: str) -> str:
    """Joda's letters as Python's. Raises SettingsRefused."""
    made = []
    for token in _TOKEN.finditer(path_format):
        quoted, letters = token.group(1), token.group(0)
        if quoted is not None:
            made.append(quoted.replace("%", "%%"))
        elif letters[0].isalpha():
            if letters not in _LETTERS:
                raise SettingsRefused([Finding("path.format", f"{letters}: not one of {', '.join(_LETTERS)}")])
            made.append(_LETTERS[letters])
        else:
            made.append(letters.replace("%", "%%"))
    return "".join(made)
