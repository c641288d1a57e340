"""Nouns and verbs: how commands are put together, and how `--help` of each teaches.

Help is plain text, wrapped to the terminal and painted only there. Drawing it with rich would take longer than all the
rest of a start; and of the commands only the one that was typed is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from enum import Enum
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from twinlog.surface.cli.examples import EXAMPLES, PREPARED
from twinlog.surface.cli.output import painted

F = TypeVar("F", bound=Callable[..., Any])
_WORDS: Final[dict[Any, str]] = {int: "N", float: "N", Path: "PATH"}
_WIDEST: Final = 100
"""Longer lines are hard to read, however wide the terminal is."""
_HELP: Final = ["-h", "--help"]


def value_of(option: Any) -> str:
    """What stands behind an option: its values, or a word for them."""
    kind = option.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum) and option.metavar is None:
        return "|".join(str(member.value) for member in kind)
    return str(option.metavar or _WORDS.get(kind, "TEXT"))


def word_of(argument: Any) -> str:
    """How an argument is called in a line of usage."""
    return str(argument.metavar or argument.name.upper()) + ("…" if argument.nargs == -1 else "")


def usage(command: Any) -> Iterator[str]:
    """What is typed behind a command: what must be, then what may be."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield word_of(parameter) if parameter.required else f"[{word_of(parameter)}]"
    if any(param.param_type_name == "option" and param.name != "help" for param in command.params):
        yield "[OPTIONS]"


def first_sentence(text: str) -> str:
    """What a list of commands says of each."""
    paragraph = " ".join(re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0].split())
    return re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0].rstrip(".")


class _Taught:
    """Help that costs nothing until somebody asks for it, and a sentence in lists that is not cut."""

    help: str | None
    short_help: str | None

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002  typer gives it
        """What a list of commands, and a shell behind TAB, say of it."""
        return self.short_help or first_sentence(self.help or "")

    def get_help_option(self, ctx: Any) -> Any:
        """Let `--help` be False when not given: for a missing value typer loads pydantic, before every command."""
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        if option is not None and option.default is None:
            option.default = False
            option.help = "Show this page."
        return option


class Verb(_Taught, TyperCommand):
    """A command that does something."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002  typer gives it
        """As the reference has it."""
        return list(usage(self))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options with their values, and examples to begin with."""
        shown = [
            (param, param.get_help_record(ctx)) for param in self.get_params(ctx) if not getattr(param, "hidden", False)
        ]
        arguments = [
            (word_of(parameter), told[1])
            for parameter, told in shown
            if parameter.param_type_name == "argument" and told
        ]
        options = [
            (_spelled(parameter), told[1])
            for parameter, told in shown
            if parameter.param_type_name == "option" and told
        ]
        _section(formatter, "Arguments", arguments)
        _section(formatter, "Options", options)
        path = ctx.command_path.partition(" ")[2]
        with formatter.section(painted("Examples", bold=True)):
            for why, line in EXAMPLES.get(path, ()):
                formatter.write(f"{'':{formatter.current_indent}}{painted(f'# {why}', 'cyan')}\n")
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Noun(_Taught, TyperGroup):
    """A group of commands: `twinlog` itself, and each noun of it."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  typer gives it
        """Let every command have its first sentence."""
        _section(
            formatter, "Commands", [(name, command.get_short_help_str()) for name, command in self.commands.items()]
        )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Where to go from here."""
        formatter.write_paragraph()
        formatter.write_text(f"`{ctx.command_path} COMMAND --help` teaches each of them, with examples.")
        if ctx.parent is None:
            formatter.write_text(PREPARED)


class Page(NamedTuple):
    """One command of `twinlog`: where it stands in the help, what is said of it there, and what does it."""

    heading: str
    name: str
    teaches: str
    module: str
    does: str

    def load(self) -> Any:
        """Import it, and build what typer runs."""
        target = getattr(import_module(f"twinlog.surface.cli.commands.{self.module}"), self.does)
        alone = Commands("")
        if isinstance(target, typer.Typer):
            alone.add_typer(target, name=self.name, short_help=self.teaches)
        else:
            alone.command(self.name, short_help=self.teaches)(target)
        return typer.main.get_group(alone).commands[self.name]


class Book(MutableMapping[str, Any]):
    """All commands by name, each loaded when it is opened: a start pays for the one that was typed."""

    def __init__(self, pages: Iterable[Page]) -> None:
        """Nothing is loaded yet."""
        self.pages = {page.name: page for page in pages}
        self._open: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._open:
            self._open[name] = self.pages[name].load()
        return self._open[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._open[name] = command

    def __delitem__(self, name: str) -> None:
        del self.pages[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pages)

    def __len__(self) -> int:
        return len(self.pages)


class Root(Noun):
    """`twinlog` itself. Its commands stand below headings."""

    book: ClassVar[Book]

    def __init__(self, **more: Any) -> None:
        """Whatever typer found itself, which is nothing, makes room for the book."""
        super().__init__(**more)
        self.commands = self.book

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  typer gives it
        """Let every command have one line; nothing is loaded for it."""
        for heading, pages in groupby(self.book.pages.values(), key=lambda page: page.heading):
            _section(formatter, heading, [(page.name, page.teaches) for page in pages])


class Commands(typer.Typer):
    """What commands are added to."""

    def __init__(self, teaches: str, cls: type[Noun] = Noun) -> None:
        """All groups alike: alone they show their help, and typer's own completion and tracebacks stay out."""
        super().__init__(
            cls=cls,
            help=teaches,
            no_args_is_help=True,
            rich_markup_mode=None,
            add_completion=False,  # `twinlog completion` does it; typer's options would slow every start down
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": _HELP, "max_content_width": _WIDEST},
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[[F], F]:
        return super().command(name, cls=Verb, **more)


def _section(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(painted(title, bold=True)):
            formatter.write_dl(rows)


def _spelled(option: Any) -> str:
    names = ", ".join(sorted((*option.opts, *option.secondary_opts), key=lambda name: name.startswith("--")))
    return names if option.is_flag else f"{names} {value_of(option)}"
