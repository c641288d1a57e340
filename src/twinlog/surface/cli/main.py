"""The command `twinlog`: composes the commands and turns errors into sentences and exit codes.

Exit codes: 0 done, 1 it did not work, 2 the command or the file is wrong (nothing was started), 4 another engine has
the links.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, Final

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # public, not marked as such
from typer.exceptions import TyperException

from twinlog.errors import LinkTaken, LinkUnknown, SettingsInvalid, TwinlogError, UsageError
from twinlog.surface.cli.commands.context import choose_context
from twinlog.surface.cli.commands.version import print_version
from twinlog.surface.cli.completion import COMPLETING
from twinlog.surface.cli.grammar import Book, Commands, Page, Root
from twinlog.surface.cli.misuse import print_abort, print_misuse
from twinlog.surface.cli.output import print_error, print_invalid, wanted_form

_STEER: Final = "Steer a running service"

Root.book = Book(
    (
        Page("Begin", "init", "write a settings file to begin with", "init", "init"),
        Page("Begin", "validate", "check the file; say where each value comes from", "validate", "validate"),
        Page("Begin", "run", "mirror until stopped", "run", "run"),
        Page("Begin", "connect", "run connectors of Kafka Connect as pipelines", "connect", "connect"),
        Page("Begin", "context", "files and services by name", "context", "app"),
        Page("Watch", "status", "how each link stands: state, lag, faults", "status", "status"),
        Page("Watch", "top", "the same, live", "top", "top"),
        Page("Watch", "groups", "where consumer groups would continue", "groups", "groups"),
        Page("Watch", "rpo", "what would be lost if a source vanished now", "rpo", "rpo"),
        Page("Watch", "diff", "what differs between both ends, and why", "diff", "diff"),
        Page("Watch", "explain", "whether and why a topic or a group is mirrored", "explain", "app"),
        Page("Watch", "topology", "what the links make together; cost of each loss", "topology", "topology"),
        Page("Prove", "doctor", "would a switch work today?", "doctor", "doctor"),
        Page("Prove", "advise", "why a link is slow; what to set", "advise", "advise"),
        Page("Prove", "verify", "compare every copied record with its original", "verify", "verify"),
        Page("Prove", "conflicts", "keys that were written on both sides", "conflicts", "conflicts"),
        Page("Prove", "drill", "rehearse a disaster without touching production", "drill", "drill"),
        Page("Switch", "failover", "make the target the active side", "failover", "failover"),
        Page("Switch", "failback", "make the source the active side again", "failover", "failback"),
        Page("Switch", "switch", "how a switch stands; resume it, or abort it", "failover", "app"),
        Page("Switch", "translate", "an offset on the other side", "translate", "translate"),
        Page("Switch", "reset-offsets", "give consumer groups other positions", "reset_offsets", "reset_offsets"),
        Page(_STEER, "link", "list, show, create, pause, resume, stop, restart, delete, reset", "link", "app"),
        Page(
            _STEER,
            "pipeline",
            "list, show, validate, preview, test, explain, diff, verify, backfill, offsets, dlq",
            "pipeline",
            "app",
        ),
        Page(_STEER, "user", "who may ask it", "user", "app"),
        Page(_STEER, "audit", "verify that no entry about logins and changes was touched", "audit", "app"),
        Page("Schemas", "registry", "a schema registry: run it, ask it, copy it", "registry", "app"),
        Page("More", "import", "take links over from MirrorMaker 2, Strimzi and others", "imports", "app"),
        Page("More", "bundle", "a support archive without secrets", "bundle", "bundle"),
        Page("More", "local", "real Kafka clusters on this machine", "local", "app"),
        Page("More", "demo", "the whole story on two of them", "demo", "demo"),
        Page("More", "completion", "let bash, zsh or fish complete", "completion_script", "completion"),
    )
)
app = Commands("Mirror Apache Kafka clusters across datacenters, exactly once, on Spark.", Root)


@app.callback()
def twinlog(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Say which one this is.")
    ] = False,
) -> None:
    """Mirror Apache Kafka clusters across datacenters, exactly once, on Spark."""


def main() -> None:
    """Run the command line."""
    level = getattr(logging, os.environ.get("TWINLOG_LOG", "WARNING").upper(), logging.WARNING)
    # The same time as in lines about links, which a terminal shows beside these.
    form = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(level=level, stream=sys.stderr, format=form, datefmt="%H:%M:%S")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if COMPLETING in os.environ:
        completion_init()
    output = wanted_form(sys.argv[1:])
    try:
        choose_context(sys.argv[1:])
        sys.exit(app(prog_name="twinlog", standalone_mode=False))
    except TyperException as error:
        print_misuse(error, output)
        sys.exit(error.exit_code)
    except typer.Abort:
        print_abort(output)
        sys.exit(1)
    except SettingsInvalid as invalid:
        print_invalid(invalid, output)
        sys.exit(2)
    except LinkTaken as error:
        print_error(error, output)
        sys.exit(4)
    except (UsageError, LinkUnknown) as error:
        print_error(error, output)
        sys.exit(2)
    except TwinlogError as error:
        print_error(error, output)
        sys.exit(1)


if __name__ == "__main__":
    main()
