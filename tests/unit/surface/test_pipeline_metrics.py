"""Metrics of pipelines: our names and Connect's; what is unknown is left out."""

from __future__ import annotations

from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_pipelines import paper_engine

from twinlog.pipelines.engine import Engine
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics.prometheus import MetricsWish, render


def rendered(engine: Engine) -> str:
    backend = PaperBackend()
    backend.engines = [engine]
    return render(AppState.of(backend), MetricsWish()).decode()


def test_a_sink_is_told_under_both_names() -> None:
    engine = paper_engine(put=5, failed=1, parked=1)
    engine.progress.state, engine.progress.waiting = "RUNNING", "the disk is full"
    engine.progress.by_task[0] = {"put": 2}
    engine.progress.by_task[1] = {"put": 3}
    text = rendered(engine)
    assert 'twinlog_pipeline_state{pipeline="orders",state="RUNNING"} 1.0' in text
    assert 'twinlog_pipeline_waiting{pipeline="orders"} 1.0' in text
    assert 'twinlog_pipeline_lag_records{pipeline="orders"} 17.0' in text
    assert 'twinlog_pipeline_records_total{kind="put",pipeline="orders"} 10.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="0"} 7.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="1"} 3.0' in text
    assert "moved_timestamp_seconds{" not in text, "it has not moved yet"
    assert "source_record_write_total{" not in text


def test_a_source_has_no_lag_in_records() -> None:
    source = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
    engine = paper_engine(source, object())
    engine.progress.moved_at = 12.5
    text = rendered(engine)
    assert "lag_records{" not in text
    assert 'moved_timestamp_seconds{pipeline="orders"} 12.5' in text
    assert 'source_record_write_total{connector="orders",task="0"} 0.0' in text
