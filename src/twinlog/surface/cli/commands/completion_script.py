"""`twinlog completion`: what a shell needs to offer commands, options, links, topics and groups behind TAB."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from twinlog.surface.cli.completion import COMPLETING


class Shell(StrEnum):
    """The shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion script of a shell. Links, topics and groups come from the file or the service.

    bash: twinlog completion bash > ~/.local/share/bash-completion/completions/twinlog

    zsh: twinlog completion zsh > ~/.zfunc/_twinlog, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc

    fish: twinlog completion fish > ~/.config/fish/completions/twinlog.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public, not marked as such

    typer.echo(get_completion_script(prog_name="twinlog", complete_var=COMPLETING, shell=shell.value))
