import os
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from twinlog.config.contexts import Contexts, load_contexts, save_contexts
from twinlog.config.telling.samples import sample
from twinlog.errors import UsageError
from twinlog.surface.cli import completion_facts
from twinlog.surface.cli.main import main


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "links.properties").write_text(sample("active-active"))
    (tmp_path / "hub.properties").write_text(sample("hub"))
    return tmp_path


Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch):
    """The clusters of the samples do not exist."""
    monkeypatch.setattr(completion_facts, "WITHIN_S", 0.05)


@pytest.fixture
def ask(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """The command in this process: exit code, output, errors."""
    monkeypatch.chdir(home)

    def run(*arguments: str, **variables: str) -> tuple[int, str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("TWINLOG_", "COMP_"))}
        monkeypatch.setattr(sys, "argv", ["twinlog", *arguments])
        environment = {
            **clean,
            "XDG_CONFIG_HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "COLUMNS": "160",
            **variables,
        }
        with patch.dict(os.environ, environment, clear=True), pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        code = ended.value.code
        return code if isinstance(code, int) else 0, told.out, told.err

    return run


def offered(ask: Ask, line: list[str], **variables: str) -> list[str]:
    words = {"_TWINLOG_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(line), "COMP_CWORD": str(len(line) - 1)}
    _, out, err = ask(**words, **variables)
    assert err == ""
    return out.split()


def test_the_strongest_word_counts():
    contexts = Contexts().add("prod", Path("/p")).add("test", Path("/t"))
    assert contexts.chosen({}) == "/p"
    assert contexts.use("test").chosen({}) == "/t"
    assert contexts.chosen({"TWINLOG_CONTEXT": "test"}) == "/t"
    assert contexts.chosen({"TWINLOG_CONTEXT": "test", "TWINLOG_CONFIG": "/f"}) == "/f"
    assert contexts.remove("prod").chosen({}) is None
    with pytest.raises(UsageError, match=r"dev: no such context \(there are: prod, test\)"):
        contexts.chosen({"TWINLOG_CONTEXT": "dev"})


def test_contexts_are_kept(tmp_path: Path):
    path = tmp_path / "twinlog" / "contexts.json"
    assert load_contexts(path) == Contexts()
    contexts = Contexts().add("prod", Path("/p"))
    save_contexts(path, contexts)
    assert load_contexts(path) == contexts
    assert [one.name for one in path.parent.iterdir()] == ["contexts.json"]
    path.write_text('{"files": 3}')
    with pytest.raises(UsageError, match="fix or delete"):
        load_contexts(path)


def test_a_command_without_a_file_takes_the_one_of_the_context(ask: Ask):
    code, _, err = ask("validate")
    assert (code, "--config" in err) == (2, True)
    assert ask("context", "add", "prod", "--config", "hub.properties")[0] == 0
    assert "plant1->hub" in ask("validate")[1]
    assert "east->west" in ask("validate", TWINLOG_CONFIG="links.properties")[1]
    assert "east->west" in ask("validate", "-c", "links.properties")[1]
    code, _, err = ask("validate", TWINLOG_CONTEXT="dev")
    assert (code, "dev: no such context" in err) == (2, True)


def test_the_shell_is_offered_links_and_topics_of_the_file(ask: Ask, home: Path):
    file = str(home / "links.properties")
    assert offered(ask, ["twinlog", "diff", "-c", file, "ea"]) == ["east-\\>west"]
    assert offered(ask, ["twinlog", "diff", "-c", file, "east-\\>"]) == []
    assert offered(ask, ["twinlog", "diff", "'we"], TWINLOG_CONFIG=file) == ["west->east"]
    assert offered(ask, ["twinlog", "explain", "topic", ""], TWINLOG_CONFIG=file) == ["orders"]
    assert offered(ask, ["twinlog", "reset-offsets", "--cluster", ""], TWINLOG_CONFIG=file) == ["east", "west"]


def test_what_was_offered_is_remembered_until_the_file_changes(ask: Ask, home: Path):
    file = home / "links.properties"
    line = ["twinlog", "diff", "-c", str(file), ""]
    assert offered(ask, line) == ["east-\\>west", "west-\\>east"]
    with patch("twinlog.config.resolve.load_file", side_effect=AssertionError("it was read again")):
        assert offered(ask, line) == ["east-\\>west", "west-\\>east"]
    file.write_text(sample("hub"))
    assert offered(ask, line) == ["plant1-\\>hub", "plant2-\\>hub"]


def test_a_wrong_file_offers_nothing_and_says_nothing(ask: Ask, home: Path):
    (home / "wrong").write_text("clusters = \nnonsense")
    assert offered(ask, ["twinlog", "diff", "-c", "wrong", "ea"]) == []
    assert offered(ask, ["twinlog", "diff", "-c", "absent", "ea"]) == []
    assert offered(ask, ["twinlog", "diff", ""], TWINLOG_CONTEXT="dev") == []
