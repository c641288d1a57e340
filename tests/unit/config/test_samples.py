from pathlib import Path

import pytest
from typer.testing import CliRunner

from twinlog.config.resolve import resolve
from twinlog.config.telling.samples import TOPOLOGIES, sample
from twinlog.surface.cli.commands.init import Template
from twinlog.surface.cli.main import app

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_an_example_is_what_init_writes_and_is_valid_without_a_remark(name: str):
    data = (EXAMPLES / f"{name}.properties").read_bytes()
    assert data.decode() == sample(name)
    resolved = resolve(data, name, (), {})
    assert resolved.findings == ()
    assert [(link.source, link.target) for link in resolved.links] == list(TOPOLOGIES[name].links)
    assert all(link.group_offsets.enabled for link in resolved.links)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_what_is_commented_out_is_valid_too(name: str):
    lines = sample(name).splitlines()
    text = "\n".join(line.removeprefix("#") if line.startswith("#") and line[1:2] != " " else line for line in lines)
    # The continued line of the login begins with a blank, like prose; the secret has to be somewhere.
    text = text.replace("#    username", "    username").replace(
        "${file:/etc/twinlog/secrets.properties:password}", "x"
    )
    assert "\non.gap = skip" in text
    resolved = resolve(text.encode(), name, (), {})
    assert not [finding for finding in resolved.findings if finding.level != "info"]


def test_every_topology_has_a_template_and_every_file_a_topology():
    assert [template.value for template in Template] == list(TOPOLOGIES)
    assert {path.stem for path in EXAMPLES.iterdir()} == set(TOPOLOGIES)


def test_names_addresses_and_topics_that_were_asked_for_are_in_the_file():
    text = sample("hub", {"hub": "berlin"}, {"hub": "b:1", "plant1": "p:2"}, "meters")
    resolved = resolve(text.encode(), "f", (), {})
    assert [link.name for link in resolved.links] == ["plant1->berlin", "plant2->berlin"]
    assert "berlin.bootstrap.servers = b:1\n" in text
    assert {link.topics.include for link in resolved.links} == {("meters",)}


def test_init_replaces_no_file_unless_told(tmp_path: Path):
    file = tmp_path / "links.properties"
    file.write_text("mine")
    refused = CliRunner().invoke(app, ["init", str(file), "--template", "chain"])
    assert "was not changed" in str(refused.exception)
    assert file.read_text() == "mine"
    assert CliRunner().invoke(app, ["init", str(file), "--template", "chain", "--force"]).exit_code == 0
    assert file.read_text() == sample("chain")


def test_init_asks_nobody_when_there_is_no_terminal(tmp_path: Path):
    result = CliRunner().invoke(app, ["init", str(tmp_path / "new")], input="active-passive\n")
    assert "--template" in str(result.exception)
    assert not (tmp_path / "new").exists()


def test_init_asks_for_names_and_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinlog.surface.cli.commands.init._at_terminal", lambda: True)
    file = tmp_path / "new"
    answers = "active-passive\nrome\nr:1\n\n\ninvoices\n"
    result = CliRunner().invoke(app, ["init", str(file)], input=answers)
    assert result.exit_code == 0, result.output
    resolved = resolve(file.read_bytes(), "f", (), {})
    assert [(link.name, link.topics.include) for link in resolved.links] == [("rome->west", ("invoices",))]
