"""A running switch on the command line: one line per event, and at a terminal a bar of its steps."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from twinlog.model.switch.events import Began, Planned, SwitchEvent, SwitchProgress, line_of
from twinlog.surface.cli.output import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Course:
    """Shows events of a switch while the block lasts. The bar appears with the first event, below plan and prompt."""

    def __init__(self, title: str, output: Output) -> None:
        self._title = title
        self._output = output
        self._known = SwitchProgress()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def __call__(self, event: SwitchEvent) -> None:
        self._known.take(event)
        progress, task = self._bar or self._begin()
        if isinstance(event, Planned):
            progress.update(task, total=len(event.titles))
        if isinstance(event, Began):
            progress.update(task, detail=event.step)
        progress.update(task, completed=self._known.done)
        line = line_of(event)
        if line is not None and not self._output.for_programs:
            progress.console.print(line, markup=False, soft_wrap=True)

    def _begin(self) -> tuple[Progress, TaskID]:
        from twinlog.surface.cli.progress import bars_of

        progress = bars_of()
        progress.start()
        self._bar = progress, progress.add_task(self._title, total=None, detail="")
        return self._bar
