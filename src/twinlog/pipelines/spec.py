"""What the job of a pipeline runs: a value that is compared. A job whose value did not change is not touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.pipelines.worker_settings import Worker

if TYPE_CHECKING:
    from twinlog.pipelines.connector import Connector


@dataclass(frozen=True)
class PipelineSpec:
    """One pipeline: its connector's name and config, and the worker that it belongs to. `name` is that of the job.

    The config has its references filled in, so it may hold secrets (R12).
    """

    name: str
    connector_name: str
    config: Mapping[str, str] = field(repr=False)
    worker: Worker = field(repr=False)
    provided: Provided = NOTHING_PROVIDED  # what of the config is never shown

    def connector(self) -> Connector:
        """The connector, read. Raises SettingsRefused."""
        from twinlog.pipelines.connector import read_connector  # noqa: PLC0415  loads pyspark: a second

        return read_connector(self.connector_name, self.config, self.worker.config, self.provided)
