from pathlib import Path

import pytest

from twinlog.config.telling.generated import keep


def test_a_stale_file_is_noticed_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "docs" / "page.md"
    assert keep({path: "new"}, "the code says", ["--check"]) == 1
    assert f"{path}: it is not what the code says" in capsys.readouterr().err
    assert keep({path: "new"}, "the code says", []) == 0
    assert keep({path: "new"}, "the code says", ["--check"]) == 0
    path.write_text("edited by hand", encoding="utf-8")
    assert keep({path: "new"}, "the code says", ["--check"]) == 1
    assert path.read_text(encoding="utf-8") == "edited by hand"
