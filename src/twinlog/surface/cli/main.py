"""The command `twinlog`: composes the commands and turns errors into sentences and exit codes.

Exit codes: 0 done, 1 it did not work, 2 the command or the file is wrong (nothing was started), 4 superseded.
"""

from __future__ import annotations

import logging
import os
import sys

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # public, not marked as such
from typer.exceptions import TyperException

from twinlog.errors import LinkUnknown, SettingsInvalid, TwinlogError, UsageError
from twinlog.surface.cli import local
from twinlog.surface.cli.bundle import bundle
from twinlog.surface.cli.completion import COMPLETING
from twinlog.surface.cli.completion_script import completion
from twinlog.surface.cli.context import app as context_app
from twinlog.surface.cli.context import choose_context
from twinlog.surface.cli.demo import demo
from twinlog.surface.cli.diff import diff
from twinlog.surface.cli.doctor import doctor
from twinlog.surface.cli.drill import drill
from twinlog.surface.cli.explain import app as explain_app
from twinlog.surface.cli.failover import app as switch_app
from twinlog.surface.cli.failover import failback, failover
from twinlog.surface.cli.groups import groups
from twinlog.surface.cli.imports import app as import_app
from twinlog.surface.cli.init import init
from twinlog.surface.cli.link import app as link_app
from twinlog.surface.cli.misuse import print_abort, print_misuse
from twinlog.surface.cli.noun import Noun
from twinlog.surface.cli.output import print_error, print_findings, print_way_out
from twinlog.surface.cli.reset_offsets import reset_offsets
from twinlog.surface.cli.rpo import rpo
from twinlog.surface.cli.run import run
from twinlog.surface.cli.status import status
from twinlog.surface.cli.top import top
from twinlog.surface.cli.translate import translate
from twinlog.surface.cli.user import app as user_app
from twinlog.surface.cli.validate import validate
from twinlog.surface.cli.verify import verify

app = typer.Typer(
    cls=Noun,
    name="twinlog",
    help="Mirror Apache Kafka clusters across datacenters, exactly once, on Spark.",
    no_args_is_help=True,
    add_completion=False,  # `twinlog completion` does it; typer's options would slow every start down
    pretty_exceptions_enable=False,
)
app.command()(init)
app.command()(run)
app.command()(validate)
app.command()(status)
app.command()(top)
app.command()(diff)
app.command()(rpo)
app.command()(doctor)
app.command()(drill)
app.command()(groups)
app.command()(translate)
app.command()(verify)
app.command("reset-offsets")(reset_offsets)
app.command()(bundle)
app.command()(demo)
app.add_typer(link_app, name="link")
app.add_typer(import_app, name="import")
app.add_typer(explain_app, name="explain")
app.command()(failover)
app.command()(failback)
app.add_typer(switch_app, name="switch")
app.add_typer(user_app, name="user")
app.add_typer(context_app, name="context")
app.add_typer(local.app, name="local")
app.command()(completion)


def main() -> None:
    """Run the command line."""
    level = getattr(logging, os.environ.get("TWINLOG_LOG", "WARNING").upper(), logging.WARNING)
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if COMPLETING in os.environ:
        completion_init()
    try:
        choose_context(sys.argv[1:])
        sys.exit(app(prog_name="twinlog", standalone_mode=False))
    except TyperException as error:
        print_misuse(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        print_abort()
        sys.exit(1)
    except SettingsInvalid as invalid:
        print_findings(invalid.findings)
        print_way_out(invalid)
        sys.exit(2)
    except (UsageError, LinkUnknown) as error:
        print_error(error)
        sys.exit(2)
    except TwinlogError as error:
        print_error(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
