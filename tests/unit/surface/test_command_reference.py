"""The page of all commands."""

from typing import Any

import typer.main

from twinlog.surface.cli import reference
from twinlog.surface.cli.main import app


def test_every_command_is_on_the_page():
    text = reference.page()
    root: Any = typer.main.get_command(app)
    assert [name for name in root.commands if f"\n## twinlog {name}\n" not in text] == []
    assert "\n## twinlog switch resume\n" in text
    assert "`--output`, `-o` `table\\|wide\\|json\\|yaml`" in text
