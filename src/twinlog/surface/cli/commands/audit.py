"""`twinlog audit`: the entries about who logged in and who changed what, as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.options import OptionalConfigFile
from twinlog.surface.cli.output import Form, Output, print_facts

app = Commands("The audit: who logged in over HTTP, and who changed what.")


@app.command()
def verify(
    files: Annotated[
        list[Path] | None, typer.Argument(help="The file of http.audit.file; rotated ones before it.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="HASH", help="The hash that the first entry must follow.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--last", metavar="HASH", help="The hash of an entry that must be there.")
    ] = None,
    *,
    topic: Annotated[
        bool, typer.Option("--topic", help="Verify the topic __twinlog-audit, and compare the files with it.")
    ] = False,
    config: OptionalConfigFile = None,
    output: Form = Output.TABLE,
) -> None:
    """Verify that no entry was changed, moved or removed. Exit code 1 when one was.

    Every entry holds the hash of the one before. Rotated files are given oldest first and are read as one. The answer
    names the first and the last hash: keep the last one elsewhere, and give it as --after or --last the next time.

    With --topic the entries of the topic are verified, each chain by itself: a service without a file begins one with
    each start. Files that are given, too, must hold the same entries: that shows an end that was cut off.
    """
    lines = _lines(files or [])
    if topic:
        if after or last:
            raise UsageError("--after and --last are about files; leave out --topic")
        if config is None:
            raise UsageError("--topic needs the settings file (-c), which says where the topic is")
        _verify_topic(config, lines, output)
        return
    if not files:
        raise UsageError("give the file of http.audit.file, or --topic with -c FILE")
    _verify_files(files, lines, after, last, output)


def _lines(files: list[Path]) -> list[str]:
    try:
        return [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise UsageError(f"{error.filename}: the audit cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{', '.join(map(str, files))}: this is no audit; give the file of http.audit.file") from None


def _verify_topic(config: Path, file: list[str], output: Output) -> None:
    import asyncio
    import dataclasses

    from twinlog.config.resolve import load_file
    from twinlog.control.audit_topic import read_audit
    from twinlog.model.access.audit_chains import judge_topic
    from twinlog.service.links_store import store_of

    lines = asyncio.run(read_audit(store_of(load_file(config))))
    if not lines:
        raise UsageError("__twinlog-audit: there is no entry in it, so nothing is verified")
    judged = judge_topic(lines, file)
    if output.for_programs:
        print_facts({**dataclasses.asdict(judged), "whole": judged.whole}, output)
    else:
        for chain in judged.chains:
            for told in chain.breaks:
                typer.echo(f"chain {chain.chain}: {told}")
        if judged.strange:
            typer.echo(f"{judged.strange} records of the topic are no entries")
        for name in judged.missing_in_file:
            typer.echo(f"{name}: it is in the topic and not in the file")
        for name in judged.missing_in_topic:
            typer.echo(f"{name}: it is in the file and not in the topic")
        if judged.whole:
            chains = f"{len(judged.chains)} chain{'' if len(judged.chains) == 1 else 's'}"
            typer.echo(f"{judged.entries} entries in {chains}: none was changed, moved or removed")
    if not judged.whole:
        raise typer.Exit(1)


def _verify_files(files: list[Path], lines: list[str], after: str | None, last: str | None, output: Output) -> None:
    import json

    from twinlog.model.drills.evidence import FIRST, Break, breaks

    if not lines:
        raise UsageError(f"{', '.join(map(str, files))}: there is no entry in it, so nothing is verified")
    broken = breaks(lines, last, part=after != FIRST)
    whole = not broken
    begins = json.loads(lines[0])["previous"] if whole else None
    if whole and after is not None and begins != after:
        broken = [Break(1, "it does not follow the entry with the hash of --after")]
    facts = {
        "entries": len(lines),
        "whole": not broken,
        "begins_after": begins,
        "last_hash": json.loads(lines[-1])["hash"] if whole else None,
        "breaks": [str(fault) for fault in broken],
    }
    if output.for_programs:
        print_facts(facts, output)
    elif broken:
        for fault in broken:
            typer.echo(str(fault))
    else:
        start = "from the first one on" if begins == FIRST else f"behind the one with the hash {begins}"
        typer.echo(f"{len(lines)} entries {start}: none was changed, moved or removed")
        typer.echo(f"last hash: {facts['last_hash']}")
    if broken:
        raise typer.Exit(1)
