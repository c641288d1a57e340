"""The flags of kafka-mirror-maker.sh on `twinlog run`: they become a settings file of this user, which is then run.

The file holds what the two files held, passwords too, so only its owner may read it.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.machine.folders import state_folder

ConsumerConfig = Annotated[Path | None, typer.Option("--consumer.config", help="MirrorMaker 1's consumer file.")]
ProducerConfig = Annotated[Path | None, typer.Option("--producer.config", help="MirrorMaker 1's producer file.")]
Include = Annotated[str, typer.Option("--include", "--whitelist", help="MirrorMaker 1's topics, a regular expression.")]
NumStreams = Annotated[int, typer.Option("--num.streams", min=1, help="MirrorMaker 1's number of consumers.")]
Abort = Annotated[str, typer.Option("--abort.on.send.failure", metavar="true|false", help="MirrorMaker 1's flag.")]


@dataclass(frozen=True)
class Mirrormaker1:
    """The flags as they were given."""

    consumer: Path | None
    producer: Path | None
    include: str
    streams: int
    abort: str

    @property
    def given(self) -> bool:
        """Whether any of them was."""
        return bool(self.consumer or self.producer or self.include)

    def settings_file(self, config: Path | None) -> Path:
        """Write the settings file and say what changes. Raises UsageError."""
        from twinlog.config.foreign.mirrormaker1 import Flags, import_mirrormaker1
        from twinlog.surface.cli.commands.import_files import of_file, properties_of

        if config is not None and not os.environ.get("TWINLOG_CONFIG"):
            raise UsageError("--config and --consumer.config: give a settings file, or MirrorMaker 1's two files")
        if self.consumer is None or self.producer is None:
            missing = "--consumer.config" if self.consumer is None else "--producer.config"
            raise UsageError(f"{missing} is missing: MirrorMaker 1 has two files, and both are needed")
        if self.abort not in {"true", "false"}:
            raise UsageError(f"--abort.on.send.failure {self.abort}: allowed is true or false")
        flags = Flags(self.include, self.streams, self.abort == "true")
        both = properties_of(self.consumer), properties_of(self.producer)
        imported = of_file(self.consumer, lambda: import_mirrormaker1(*both, flags))
        name = hashlib.sha256(f"{self.consumer.absolute()}\n{self.producer.absolute()}".encode()).hexdigest()[:12]
        path = state_folder() / "mirrormaker1" / f"{name}.properties"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_private(path, imported.text())
        typer.echo(f"The flags of MirrorMaker 1 became {path}. What has no counterpart or changes:", err=True)
        for note in imported.notes:
            typer.echo(f"  {note}", err=True)
        return path


def _write_private(path: Path, text: str) -> None:
    """Replace the file at once; it is never readable by others, not even for a moment."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="latin-1") as out:
        out.write(text)
    beside.replace(path)
