"""Metrics of pipelines: our names and Connect's; what is unknown is left out."""

from __future__ import annotations

import asyncio

from tests.kit.paper_backend import PaperBackend
from tests.kit.paper_pipelines import PaperPipelines, paper_engine

from twinlog.control.states import State
from twinlog.pipelines.engine import Engine
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics.prometheus import MetricsWish, render


def rendered(*engines: Engine, lag: tuple[int, float] | None = None, **standing: State) -> str:
    backend = PaperBackend(pipelines=PaperPipelines(list(engines), standing))
    app_state = AppState.of(backend)
    asyncio.run(app_state.pipeline_watch.look())
    if lag is not None:
        meter = app_state.pipeline_watch.meter("orders")
        meter.lag_records, meter.lag_seconds = lag
    return render(app_state, MetricsWish()).decode()


def test_a_sink_is_told_under_both_names() -> None:
    engine = paper_engine(put=5, failed=1, parked=1)
    engine.progress.state = "RUNNING"
    engine.progress.take({"task": 1, "end_of": "writer", "waiting": "the disk is full"})
    engine.progress.by_task[0] = {"put": 2}
    engine.progress.by_task[1] = {"put": 3}
    text = rendered(engine, lag=(17, 2.5))
    assert 'twinlog_pipeline_state{pipeline="orders",state="RUNNING"} 1.0' in text
    assert 'twinlog_pipeline_waiting{pipeline="orders"} 1.0' in text
    assert 'twinlog_pipeline_lag_records{pipeline="orders"} 17.0' in text
    assert 'twinlog_pipeline_lag_seconds{pipeline="orders"} 2.5' in text
    assert 'twinlog_pipeline_tasks_failed{pipeline="orders"} 1.0' in text
    assert 'twinlog_pipeline_records_total{kind="put",pipeline="orders"} 10.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="0"} 7.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="orders",task="1"} 3.0' in text
    assert 'kafka_connect_sink_task_metrics_sink_record_read_total{connector="orders",task="0"} 8.0' in text
    assert 'kafka_connect_task_error_metrics_total_records_skipped_total{connector="orders",task="0"} 1.0' in text
    assert "moved_timestamp_seconds{" not in text, "it has not moved yet"
    assert "records_per_second{" not in text, "one look tells no rate"
    assert "source_record_write_total{" not in text


def test_a_source_has_no_lag_in_records() -> None:
    source = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
    engine = paper_engine(source, object())
    engine.progress.moved_at = 12.5
    text = rendered(engine)
    assert "lag_records{" not in text
    assert 'moved_timestamp_seconds{pipeline="orders"} 12.5' in text
    assert 'source_record_write_total{connector="orders",task="0"} 0.0' in text


def test_a_pipeline_that_stands_still_has_a_state_and_no_numbers() -> None:
    text = rendered(orders="PAUSED")
    assert 'twinlog_pipeline_state{pipeline="orders",state="PAUSED"} 1.0' in text
    assert 'twinlog_pipeline_tasks_failed{pipeline="orders"} 0.0' in text
    assert "twinlog_pipeline_records_total{" not in text


def test_a_pipeline_that_failed_counts_as_failed_and_says_how_often_it_was_restarted() -> None:
    engine = paper_engine()
    engine.progress.fail("the JVM ended")
    engine.progress.restarts = 3
    text = rendered(engine)
    assert 'twinlog_pipeline_state{pipeline="orders",state="FAILED"} 1.0' in text
    assert 'twinlog_pipeline_tasks_failed{pipeline="orders"} 1.0' in text
    assert 'twinlog_pipeline_restarts_total{pipeline="orders"} 3.0' in text
