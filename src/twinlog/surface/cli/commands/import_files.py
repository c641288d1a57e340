"""`twinlog import strimzi | mm1 | brooklin | mirus | ureplicator`: a links file from another tool's files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.output import Form, Output, print_facts

if TYPE_CHECKING:
    from twinlog.config.foreign.imported import Imported

File = Annotated[Path, typer.Argument(help="The file of the other tool; `-` is standard input.")]
Consumer = Annotated[Path, typer.Option("--consumer.config", help="Its consumer file.")]
Producer = Annotated[Path, typer.Option("--producer.config", help="Its producer file.")]


def strimzi(file: File, output: Form = Output.TABLE) -> None:
    """Print a links file for a Strimzi `KafkaMirrorMaker2` resource (YAML or JSON).

    Nothing is written and no cluster is asked. Kubernetes secrets become paths below /etc/twinlog/secrets.
    """
    from twinlog.config.foreign.strimzi import import_strimzi

    _print(of_file(file, lambda: import_strimzi(_document(file))), output)


def brooklin(file: File, output: Form = Output.TABLE) -> None:
    """Print a links file for a datastream of Brooklin's mirror maker (JSON)."""
    from twinlog.config.foreign.brooklin import import_brooklin

    _print(of_file(file, lambda: import_brooklin(_document(file))), output)


def mirus(file: File, output: Form = Output.TABLE) -> None:
    """Print a links file for a Mirus source connector (JSON or properties)."""
    from twinlog.config.foreign.mirus import import_mirus

    _print(of_file(file, lambda: import_mirus(properties_of(file))), output)


def mm1(
    *,
    consumer: Consumer,
    producer: Producer,
    include: Annotated[str, typer.Option("--include", "--whitelist", help="Its regular expression of topics.")] = "",
    num_streams: Annotated[int, typer.Option("--num.streams", min=1, help="Its number of consumers.")] = 1,
    abort: Annotated[
        bool, typer.Option("--abort.on.send.failure/--no-abort.on.send.failure", help="Its flag of that name.")
    ] = True,
    handler: Annotated[str, typer.Option("--message.handler", help="Its flag of that name.")] = "",
    output: Form = Output.TABLE,
) -> None:
    """Print a links file for MirrorMaker 1, from its two files and its flags.

    The link begins at the committed offsets of MirrorMaker 1's group. Stop MirrorMaker 1 before you start the link.
    """
    from twinlog.config.foreign.mirrormaker1 import Flags, import_mirrormaker1

    flags = Flags(include, num_streams, abort, handler)
    files = properties_of(consumer), properties_of(producer)
    _print(of_file(consumer, lambda: import_mirrormaker1(*files, flags)), output)


def ureplicator(
    *,
    consumer: Consumer,
    producer: Producer,
    topics: Annotated[str, typer.Option("--topics", help="The topics of its controller, separated by commas.")] = "",
    output: Form = Output.TABLE,
) -> None:
    """Print a links file for uReplicator, from its worker's two files and the topics of its controller."""
    from twinlog.config.foreign.mirrormaker1 import Flags, import_mirrormaker1

    files = properties_of(consumer), properties_of(producer)
    _print(of_file(consumer, lambda: import_mirrormaker1(*files, Flags(topics), "uReplicator")), output)


def _print(imported: Imported, output: Output) -> None:
    from twinlog.config.resolve import examine

    text = imported.text()
    wrong = [finding for finding in examine(text.encode(), imported.tool, (), {}).findings if finding.level == "error"]
    if output.for_programs:
        links = {"clusters": imported.clusters, "links": imported.links, "notes": imported.notes, "file": text}
        print_facts({**links, "errors": [str(finding) for finding in wrong]}, output)
    else:
        typer.echo(text, nl=False)
        for finding in wrong:
            typer.echo(f"to correct: {finding}", err=True)
        typer.echo("Save it as links.properties, then `twinlog validate -c links.properties`.", err=True)


def of_file(file: Path, read: Callable[[], Imported]) -> Imported:
    """Read; an error names the file first."""
    try:
        return read()
    except UsageError as error:
        if error.problem.startswith(str(file)):
            raise
        raise UsageError(f"{file}: {error.problem}") from None


def _bytes(file: Path) -> bytes:
    try:
        return typer.get_binary_stream("stdin").read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: the file cannot be read ({error.strerror})") from error


def _document(file: Path) -> Any:
    import yaml

    try:
        documents = [document for document in yaml.safe_load_all(_bytes(file)) if document is not None]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: it is neither YAML nor JSON: {str(error).splitlines()[0]}") from None
    if len(documents) != 1:
        raise UsageError(f"{file}: one document is expected, {len(documents)} were found")
    return documents[0]


def properties_of(file: Path) -> dict[str, str]:
    """Read a properties file or the JSON of a connector. Raises UsageError."""
    from twinlog.config.foreign.replicator import parse_settings
    from twinlog.config.text.file_kind import foreign_kind

    data = _bytes(file)
    if (foreign := foreign_kind(data, str(file))) is not None:
        raise UsageError(f"{file}: {foreign}")
    entries, findings = parse_settings(data, str(file))
    for finding in findings:
        if finding.level == "error":
            raise UsageError(str(finding))
    return {key: entry.value for key, entry in entries.items()}
