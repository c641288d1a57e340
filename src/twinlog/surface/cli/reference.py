"""The reference of all commands, made from the code: `python -m twinlog.surface.cli.reference [--check]`.

Runs by hand and in `make check`, at the root of the sources. The same commands give the same bytes.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer.main

from twinlog.config.telling.generated import keep
from twinlog.surface.cli.examples import EXAMPLES
from twinlog.surface.cli.grammar import usage, value_of, word_of
from twinlog.surface.cli.main import app

PAGE: Final = Path("docs/reference/cli.md")

_HEAD = """\
# Commands

This page is generated from the commands themselves (`make reference`); do not edit it by hand.

Answers go to standard output, everything else to standard error. Colours and bars are for terminals only. `-o wide`
shows the columns that a table leaves out; `-o json` and `-o yaml` tell programs the same facts. Each command that
changes something has `--dry-run`.

| exit code | meaning |
|--:|---|
| 0 | done; the answer is good |
| 1 | it did not work, or the answer is bad: a link is unhealthy, a check fails, something differs |
| 2 | the command or the settings file is wrong; nothing was started |
| 4 | `twinlog run` only: another engine took all links over |
| 130 | Ctrl-C |

| variable | meaning |
|---|---|
| `TWINLOG_CONFIG` | the settings file of commands that are given no `--config` |
| `TWINLOG_CONTEXT` | the name of such a file or service, see [context](#twinlog-context) |
| `TWINLOG_SERVICE` | the running service that `twinlog link` talks to |
| `TWINLOG_TOKEN`, `TWINLOG_TOKEN_FILE` | the token for it, or the file that holds one |
| `TWINLOG_USER` | the user, in place of a token |
| `TWINLOG_PASSWORD`, `TWINLOG_PASSWORD_FILE` | the password of that user, or the file that holds it |
| `TWINLOG_CA`, `TWINLOG_CERTIFICATE` | with https: certificates to trust, and the client's own |
| `NO_COLOR` | no colours, at terminals either |
| `TWINLOG_LOG` | how much is logged to standard error: `DEBUG`, `INFO`, `WARNING` (the default), `ERROR` |

`twinlog completion` lets the shell complete commands, options, links, topics, groups and contexts.
"""


def page() -> str:
    """Return the whole page."""
    # The classes behind a command line are typer's own affair, so they have no types here.
    root: Any = typer.main.get_command(app)
    return _HEAD + "".join(
        part for name, command in root.commands.items() for part in _command(f"twinlog {name}", command)
    )


def _command(path: str, command: Any) -> Iterator[str]:
    children = getattr(command, "commands", {})
    yield f"\n## {path}\n\n"
    if not children:
        yield f"`{' '.join([path, *usage(command)])}`\n\n"
    yield _prose(command.help or "") + "\n"
    shown = [param for param in command.params if not getattr(param, "hidden", False) and param.name != "help"]
    if shown and not children:
        yield "\n| | meaning | default |\n|---|---|---|\n"
        yield from map(_row, shown)
    examples = EXAMPLES.get(path.partition(" ")[2], ())
    if examples:
        yield "\n```sh\n" + "".join(f"{line}   # {why}\n" for why, line in examples) + "```\n"
    for name, child in children.items():
        yield from _command(f"{path} {name}", child)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{word_of(parameter)}`"
    else:
        name = ", ".join(f"`{spelling}`" for spelling in parameter.opts) + (
            "" if parameter.is_flag else f" `{value_of(parameter)}`"
        )
    cells = (name, parameter.help or "", _default(parameter))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "must be given" if not parameter.envvar else f"must be given, or `{parameter.envvar}` set"
    if (
        parameter.default is None
        or parameter.default is False
        or callable(parameter.default)
        or parameter.default == ()
    ):
        return ""
    return f"`{getattr(parameter.default, 'value', parameter.default)}`"


def _prose(text: str) -> str:
    """Paragraphs as they are, each on one line, so that the terminal's width does not show."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text).replace("\f", ""))
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    sys.exit(keep({PAGE: page()}, "the commands say", sys.argv[1:]))
