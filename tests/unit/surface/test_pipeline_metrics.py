"""Metrics of pipelines: our names and Connect's; what is unknown is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.engine import Engine
from twinlog.surface.metrics.pipelines import render_pipelines


class PaperPlanner:
    """Knows how far behind it is."""

    lag = 17

    def plan(self, *_: Any) -> Any: ...

    def heard(self, _: Any) -> None: ...


def engine_of(tmp_path: Path, config: dict[str, str], planner: Any) -> Engine:
    return Engine(read_connector("orders", config, {}), planner, None, tmp_path)  # type: ignore[arg-type]


def test_a_sink_is_told_under_both_names(tmp_path: Path) -> None:
    sink = {"connector.class": "FileStreamSink", "file": "/x", "topics": "t"}
    engine = engine_of(tmp_path, sink, PaperPlanner())
    engine.progress.state, engine.progress.waiting = "RUNNING", "the disk is full"
    engine.progress.counts.update({"put": 5, "failed": 1, "parked": 1})
    engine.progress.by_task[0] = {"put": 2}
    engine.progress.by_task[1] = {"put": 3}
    text = render_pipelines([engine]).decode()
    assert 'twinlog_pipeline_state{pipeline="orders",state="RUNNING"} 1.0' in text
    assert 'twinlog_pipeline_waiting{pipeline="orders"} 1.0' in text
    assert 'twinlog_pipeline_lag_records{pipeline="orders"} 17.0' in text
    assert 'twinlog_pipeline_records_total{kind="put",pipeline="orders"} 10.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="0"} 7.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="1"} 3.0' in text
    assert "moved_timestamp_seconds{" not in text, "it has not moved yet"
    assert "source_record_write_total{" not in text


def test_a_source_has_no_lag_in_records(tmp_path: Path) -> None:
    source = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
    engine = engine_of(tmp_path, source, object())
    engine.progress.moved_at = 12.5
    text = render_pipelines([engine]).decode()
    assert "lag_records{" not in text
    assert 'moved_timestamp_seconds{pipeline="orders"} 12.5' in text
    assert 'source_record_write_total{connector="orders",task="0"} 0.0' in text
