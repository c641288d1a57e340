"""`twinlog audit`: the entries about who logged in and who changed what, as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts

app = Commands("The audit: who logged in over HTTP, and who changed what.")


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="The file of http.audit.file; rotated ones before it.")],
    after: Annotated[
        str | None, typer.Option("--after", metavar="HASH", help="The hash that the first entry must follow.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--last", metavar="HASH", help="The hash of an entry that must be there.")
    ] = None,
    output: Form = Output.TABLE,
) -> None:
    """Verify that no entry was changed, moved or removed. Exit code 1 when one was.

    Every entry holds the hash of the one before. Rotated files are given oldest first and are read as one. The answer
    names the first and the last hash: keep the last one elsewhere, and give it as --after or --last the next time. The
    same entries are in the topic __twinlog-audit, with the same hashes.
    """
    import json

    from twinlog.model.drills.evidence import FIRST, Break, breaks

    try:
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise UsageError(f"{error.filename}: the audit cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{', '.join(map(str, files))}: this is no audit; give the file of http.audit.file") from None
    if not lines:
        raise UsageError(f"{', '.join(map(str, files))}: there is no entry in it, so nothing is verified")
    found = breaks(lines, last, part=after != FIRST)
    whole = not found
    begins = json.loads(lines[0])["previous"] if whole else None
    if whole and after is not None and begins != after:
        found = [Break(1, "it does not follow the entry with the hash of --after")]
    facts = {
        "entries": len(lines),
        "whole": not found,
        "begins_after": begins,
        "last_hash": json.loads(lines[-1])["hash"] if whole else None,
        "breaks": [str(one) for one in found],
    }
    if output.for_programs:
        print_facts(facts, output)
    elif found:
        for one in found:
            typer.echo(str(one))
    else:
        start = "from the first one on" if begins == FIRST else f"behind the one with the hash {begins}"
        typer.echo(f"{len(lines)} entries {start}: none was changed, moved or removed")
        typer.echo(f"last hash: {facts['last_hash']}")
    if found:
        raise typer.Exit(1)
