"""One pipeline: its state and cause, rate, lag, tasks, faults, and its parked records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from twinlog.model.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinlog.pipelines.parked import Parked
    from twinlog.pipelines.preview_rows import Preview
    from twinlog.surface.http.app_state import PipelineState

_FAULTS_SHOWN = 100
NUMBERS: Final = (
    "records_per_second", "lag_records", "lag_seconds", "records", "parked", "restarts", "caught_up_ms", "next_run_ms",
)  # fmt: skip


class PipelineTask(BaseModel):
    """A task of a pipeline."""

    id: int
    state: str
    trace: str = Field("", description="Why it does not advance; empty when it does.")
    counts: dict[str, int] = Field(description="Of the epoch that runs: put, written, dropped, failed, parked.")


class PipelineSummary(BaseModel):
    """One pipeline in a line. What is not known is null, never 0."""

    name: str
    type: str
    class_name: str
    worker: str = Field("", description="HOST:PORT of the service that runs it; empty: unknown.")
    state: str = Field(description="As in Connect; DEGRADED: it runs, and some of its tasks do not advance.")
    reason: str = Field(description="Why it is not well, in one sentence; empty when it is.")
    records_per_second: float | None
    lag_records: int | None = Field(description="Records of its topics that are not stored yet. A source has none.")
    lag_seconds: float | None = Field(description="How old the last stored record is, while others wait.")
    tasks: int
    tasks_failed: int
    records: int | None = Field(description="Records that it wrote since its start.")
    parked: int | None = Field(description="Records that it parked since its start.")
    restarts: int | None = Field(description="How often its tasks were started again after a failure.")
    caught_up_ms: int | None = Field(None, description="With run=available: when everything was handled last.")
    next_run_ms: int | None = Field(None, description="With a schedule: when it runs again; null while it runs.")


class PipelineDetail(PipelineSummary):
    """Everything about one pipeline but its positions and its parked records."""

    task_list: list[PipelineTask]
    faults: list[dict[str, Any]] = Field(description="Records that stop their partitions.")
    faults_left_out: int = 0
    failed: list[dict[str, Any]] = Field(description="The last records that could not be handled.")
    counts: dict[str, int]
    topics: list[str]
    lag_by_partition: dict[str, int]
    dead_letters: str = Field(description="The topic of its parked records; empty: it parks none.")
    last_failure: str = Field(description="Why its tasks ended last; empty: they never did.")
    last_failure_ms: int | None
    moved_ms: int | None = Field(description="When it stored a position last.")
    config: dict[str, str] = Field(description="Secrets are masked.")


class ParkedRecord(BaseModel):
    """One dead letter. Key and value are for operators."""

    at: str = Field(description="PARTITION:OFFSET in the topic of the dead letters.")
    state: str = Field(description="open, replayed or dropped")
    origin: str = Field(description="Where it came from.")
    reason: str
    parked_ms: int = Field(description="The time of the record.")
    key: str | None = None
    value: str | None = None
    whole: bool = Field(True, description="False: the bytes are no text; they can be replayed, not repaired here.")


class PreviewStep(BaseModel):
    """The samples after one step."""

    name: str
    records: list[dict[str, Any]]


class PreviewAnswer(BaseModel):
    """Sample records after each step. Nothing was written."""

    steps: list[PreviewStep]
    remarks: list[str]
    actions: list[str] = Field(description="What the target would be sent.")


def summary_of(look: PipelineState) -> PipelineSummary:
    """One pipeline in a line."""
    return PipelineSummary(**_summary(look))


def _summary(look: PipelineState) -> dict[str, Any]:
    view, meter = look
    status, engine = view.status, view.engine
    states = [status.of_task(number) for number in range(status.tasks)]
    failed = [(state, trace) for state, trace in states if state == "FAILED"]
    state: str = status.state
    reason = status.trace or ""
    if state == "RUNNING" and failed:
        state = "DEGRADED"
        reason = "; ".join(dict.fromkeys(trace for _, trace in failed if trace))
    totals = None if engine is None else engine.progress.totals()
    facts = {
        "name": view.name, "type": view.type, "class_name": view.class_name, "state": state, "reason": reason,
        "worker": view.worker,
        "records_per_second": meter.records_per_second if engine is not None else None,
        "lag_records": meter.lag_records, "lag_seconds": meter.lag_seconds, "tasks": status.tasks,
        "tasks_failed": len(failed),
        "records": None if totals is None else totals["put" if view.type == "sink" else "written"],
        "parked": None if totals is None else totals["parked"],
        "restarts": None if engine is None else engine.progress.restarts,
        "caught_up_ms": None if engine is None else _ms(engine.progress.caught_up_at),
        "next_run_ms": None if engine is None else _ms(engine.progress.next_run_at),
    }  # fmt: skip
    # The numbers of one that runs at another service of the group are those that it told last.
    return facts if engine is not None else facts | {key: view.told[key] for key in NUMBERS if key in view.told}


def numbers_of(look: PipelineState) -> dict[str, float | None]:
    """What this service tells others of a pipeline that it runs."""
    facts = _summary(look)
    return {key: facts[key] for key in NUMBERS}


def detail_of(look: PipelineState) -> PipelineDetail:
    """One pipeline with its tasks."""
    view = look.view
    status, progress = view.status, None if view.engine is None else view.engine.progress
    by_task = {} if progress is None else dict(progress.by_task)
    tasks = []
    for number in range(status.tasks):
        state, trace = status.of_task(number)
        tasks.append(PipelineTask(id=number, state=state, trace=trace or "", counts=by_task.get(number, {})))
    faults = [] if progress is None else progress.faults
    return PipelineDetail(
        **_summary(look),
        task_list=tasks,
        faults=faults[:_FAULTS_SHOWN],
        faults_left_out=max(0, len(faults) - _FAULTS_SHOWN),
        failed=[] if progress is None else progress.failed[-20:],
        counts={} if progress is None else dict(progress.totals()),
        topics=list(view.topics),
        lag_by_partition=look.meter.lag_by_partition,
        dead_letters=view.dead_letters,
        last_failure="" if progress is None else progress.trace,
        last_failure_ms=None if progress is None else _ms(progress.failed_at),
        moved_ms=None if progress is None else _ms(progress.moved_at),
        config=dict(view.config),
    )


def _ms(at_s: float) -> int | None:
    """A time for programs; 0 is none."""
    return round(at_s * 1000) if at_s else None


def parked_of(records: Sequence[Parked], *, contents: bool) -> list[ParkedRecord]:
    """Dead letters, newest first. Without `contents` keys and values are left out."""
    return [
        ParkedRecord(
            at=str(parked.place),
            state=parked.action,
            origin=parked.origin or "unknown",
            reason=parked.reason,
            parked_ms=max(0, min(parked.timestamp_ms, SYSTEM_CLOCK.now_ms())),
            key=_text(parked.key) if contents else None,
            value=_text(parked.value) if contents else None,
            whole=_is_text(parked.value),
        )
        for parked in reversed(records)
    ]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def _is_text(data: bytes | None) -> bool:
    return data is not None and _text(data) == data.decode(errors="replace")


def preview_of(preview: Preview) -> PreviewAnswer:
    """The samples of a preview."""
    steps = [PreviewStep(name=step.name, records=step.rows) for step in preview.steps]
    return PreviewAnswer(steps=steps, remarks=preview.remarks, actions=preview.actions)
