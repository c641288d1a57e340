from pathlib import Path

import pytest

from twinlog.config import reference
from twinlog.config.catalogue import CATALOGUE


def test_every_key_is_on_the_page():
    text = reference.page()
    assert [key.name for key in CATALOGUE if f"`{key.name}`" not in text] == []
    assert "| `refresh.topics.interval.seconds` | `5` | `600` |" in text


def test_a_stale_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    assert reference.main(["--check"]) == 1
    assert "make reference" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0
    reference.PAGE.write_text(reference.page() + "more")
    assert reference.main(["--check"]) == 1
