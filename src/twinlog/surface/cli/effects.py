"""Which commands change something, and how they say what they would do.

Every command is in one of the two lists, and one that changes anything has `--dry-run`; a test walks all of them.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

CHANGING: Final = frozenset(
    {
        "init",
        "run",
        "connect",
        "pipeline offsets",
        "pipeline dlq replay",
        "pipeline dlq drop",
        "pipeline backfill",
        "advise",
        "drill",
        "failover",
        "failback",
        "switch resume",
        "switch abort",
        "switch sign",
        "reset-offsets",
        "import mm2",
        "bundle",
        "demo",
        "link create",
        "link pause",
        "link resume",
        "link stop",
        "link restart",
        "link delete",
        "link reset",
        "link accept-truncation",
        "link limit",
        "link first",
        "link pause-topic",
        "link resume-topic",
        "link prepare",
        "user add",
        "user remove",
        "context add",
        "context use",
        "context remove",
        "registry run",
        "registry import",
        "registry promote",
        "registry repair",
        "local up",
        "local produce",
        "local consume",
        "local down",
    }
)
READING: Final = frozenset(
    {
        "import strimzi",
        "import mm1",
        "import brooklin",
        "import mirus",
        "import ureplicator",
        "validate",
        "status",
        "topology",
        "top",
        "diff",
        "rpo",
        "doctor",
        "groups",
        "translate",
        "verify",
        "conflicts",
        "link list",
        "link show",
        "link control",
        "pipeline list",
        "pipeline show",
        "pipeline plugins",
        "pipeline validate",
        "pipeline preview",
        "pipeline test",
        "pipeline dlq list",
        "pipeline explain",
        "pipeline diff",
        "pipeline verify",
        "pipeline dlq show",
        "explain topic",
        "explain group",
        "explain map",
        "switch status",
        "user list",
        "audit verify",
        "context list",
        "registry status",
        "registry export",
        "registry verify",
        "local status",
        "completion",
    }
)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def would(*sentences: str) -> None:
    """Say what a command leaves undone: each sentence names the thing, then what would become of it."""
    for sentence in sentences:
        typer.echo(sentence)
    typer.echo("dry run: nothing was changed", err=True)
