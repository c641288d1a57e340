"""A command that is written wrongly is told what is wrong, beginning with the thing and ending with the way out."""

import os
import sys
from pathlib import Path

import pytest

from twinlog.config.telling.samples import sample
from twinlog.surface.cli.main import main


@pytest.mark.parametrize(
    ("line", "code", "thing", "way"),
    [
        ("nonsense", 2, "error: twinlog: no such command", "`twinlog --help` shows how"),
        ("status", 2, "error: twinlog status: missing option '--config'", "`twinlog init`"),
        ("status -c links.properties -o xml", 2, "error: twinlog status: invalid value for '--output'", "--help"),
        ("status -c absent", 2, "absent: the file cannot be read", "`twinlog init`"),
        ("link pausse x", 2, "error: twinlog link: no such command 'pausse'", "`twinlog link --help`"),
        ("diff plant->hub -c links.properties", 2, "error: plant->hub: no such enabled link", "try: Did you mean"),
        ("diff plant1- -c links.properties", 2, "error: twinlog diff: invalid value for 'link'", "try: `twinlog diff"),
        ("explain topic x -l plant1- -c links.properties", 2, "your shell took the `>`", "in quotes"),
        ("drill plant1->hub -c links.properties", 2, "error: drill: say which", "--paper"),
        ("drill --check --report none", 1, "none: there are no reports", "`twinlog drill LINK --paper`"),
        ("failover plant1->hub -c links.properties", 2, "error: failover: say either", "--planned"),
        ("reset-offsets --cluster hub -c links.properties", 2, "error: reset-offsets: say once", "--to-earliest"),
        ("user list -f none", 2, "error: none: the file of users cannot be read", "`twinlog user add`"),
        ("init x", 2, "error: init: there is no terminal", "--template"),
        ("run -c links.properties --spark-conf spark.x", 2, "error: --spark-conf spark.x", "KEY=VALUE"),
        ("local down mars", 1, "mars: there is no local cluster", "`twinlog local status`"),
        ("link reset plant1->hub orders -c links.properties", 1, "error: twinlog: no answer", "--yes"),
    ],
)
def test_a_mistake_is_told_with_the_way_out(
    *, line: str, code: int, thing: str, way: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    for name in [name for name in os.environ if name.startswith(("TWINLOG_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TWINLOG_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.properties").write_text(sample("hub"))
    monkeypatch.setattr(sys, "argv", ["twinlog", *line.split()])
    monkeypatch.setattr(sys, "stdin", open(os.devnull))  # noqa: PTH123, SIM115
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert thing in said
    assert way in said


def test_a_noun_alone_shows_its_verbs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["twinlog", "explain"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr()
    assert "Whether and why" in told.out + told.err
