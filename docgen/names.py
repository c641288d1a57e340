"""Names in documents that do not exist: files, and keys of settings files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from twinlog.config.resolve import examine

_FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|yml))`")
_BLOCK = re.compile(r"^```properties\n(.*?)^```", re.DOTALL | re.MULTILINE)


def unknown_names(root: Path) -> list[str]:
    """Return one line for each name in a document that the sources do not have."""
    documents = [*root.glob("*.md"), *(root / "docs").glob("*.md")]
    return [
        f"{document}: {finding}"
        for document in sorted(documents)
        if document.name != "CHANGELOG.md"
        for finding in _unknown(document.read_text(encoding="utf-8"), root)
    ]


def _unknown(text: str, root: Path) -> Iterator[str]:
    bases = [root, root / "src" / "twinlog", root / "tests", root / "docs", root / "deploy"]
    folders = ("src", "tests", "bench", "docgen", "docs", "deploy")
    names = {path.name for folder in folders for path in (root / folder).rglob("*.*")}
    for name in sorted(set(_FILE.findall(text))):
        known = name in names if "/" not in name else any((base / name).exists() for base in bases)
        if not known and not (root / name).exists():
            yield f"`{name}` is no file of the sources"
    for block in _BLOCK.findall(text):
        for finding in examine(block.encode(), "properties", (), {}).findings:
            if finding.sentence.startswith("unknown"):
                yield str(finding)
