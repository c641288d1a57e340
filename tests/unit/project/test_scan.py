"""`make scan`: a hole is found, a fixed version is in order, and an answer that was not given is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import scan

ADVISORY = """
id: PYSEC-1
aliases: [CVE-1]
affected:
- package: {ecosystem: PyPI, name: some-package}
  ranges:
  - type: ECOSYSTEM
    events:
    - introduced: "1.2"
    - fixed: 1.4.1
    - introduced: "2.0"
  versions: ["0.9"]
"""


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.9", 1), ("1.1", 0), ("1.2", 1), ("1.4", 1), ("1.4.1", 0), ("1.10", 0), ("2.0", 1), ("3.1", 1)],
)
def test_a_version_is_compared_as_versions_are(
    version: str, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "vulns" / "some-package").mkdir(parents=True)
    (tmp_path / "vulns" / "some-package" / "PYSEC-1.yaml").write_text(ADVISORY)
    pinned = tmp_path / "requirements.txt"
    pinned.write_text(f"Some_Package[x]=={version} \\\n    --hash=sha256:0\nother==1.2 ; python_version > '3'\n")
    assert scan.main([str(pinned), "--advisories", str(tmp_path)]) == expected
    assert ("PYSEC-1 (CVE-1)" in capsys.readouterr().out) == bool(expected)


def test_where_nobody_can_be_asked_nothing_is_called_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pinned = tmp_path / "requirements.txt"
    pinned.write_text("a==1\n")
    monkeypatch.setattr(scan, "pypi_tells", lambda *_: "the index: 403")
    assert scan.main([str(pinned)]) == 2
    assert "nothing was scanned: the index: 403" in capsys.readouterr().err
    assert scan.main([str(pinned), "--advisories", str(tmp_path)]) == 2, "an empty folder knows of no hole"
    pinned.write_text("")
    assert scan.main([str(pinned)]) == 2


def test_the_index_is_the_one_of_the_lock_file():
    address = scan.index_address()
    assert f'registry = "{address}/simple"' in scan.LOCK.read_text()
