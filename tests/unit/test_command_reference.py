from twinlog.surface.cli import reference
from twinlog.surface.cli.main import app


def test_every_command_is_on_the_page():
    text = reference.page()
    named = [one.name or one.callback.__name__ for one in app.registered_commands if one.callback]
    nouns = [one.name for one in app.registered_groups]
    assert [name for name in [*named, *nouns] if f"\n## twinlog {name}\n" not in text] == []
    assert "\n## twinlog switch resume\n" in text
    assert "`--output`, `-o` `table \\| wide \\| json \\| yaml`" in text
