"""Names in documents that do not exist: files, links, keys of settings, targets of make, questions of the bench."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from twinlog.config.resolve import examine

_FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|yml))`")
_PATH = re.compile(r"`((?:bench|deploy|docs|examples|src|tests)/[\w./@-]+)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_KEY = re.compile(r"`([a-z][a-z0-9-]*(?:\.[a-z0-9_-]+)+)(?: ?= ?[^`]*)?`")
_TARGET = re.compile(r"`make ([a-z]+)")
_QUESTION = re.compile(r"python -m bench ([a-z_]+)")
_UNPUBLISHED = re.compile(r"pip install (?:-U |--upgrade )?['\"]?twinlog(?:-\w+)?\b")
_BLOCK = re.compile(r"^```properties\n(.*?)^```", re.DOTALL | re.MULTILINE)
_CODE = ("*.py", "*.toml", "*.yaml", "*.yml", "*.tpl", "*.sh", "*.service", "*.properties")

FOREIGN = frozenset(
    {
        *("producer.id.expiration.ms", "kafkastore.bootstrap.servers", "connect-mirror-maker.sh"),
        *("spark.executor.memory", "spark.io.encryption.enabled", "pyspark.zip"),
        *("optional.for.nullables", "message.key.columns", "source.pos", "source.snapshot", "source.version"),
        *("scene.effect", "mine.yaml", "conn.json", "copy-of-server-properties.twinlog"),
    }
)
"""Names of other products, and of files that a reader makes."""


def unknown_names(root: Path) -> list[str]:
    """Return one line for each name in a document that the sources do not have."""
    sources = Sources(root)
    folders = [root, root / "docs", *(root / "deploy").rglob("*/"), *(root / "bench").glob("*/")]
    documents = {page for folder in folders for page in folder.glob("*.md") if "results" not in page.parts}
    documents.add(root / "bench" / "results" / "README.md")
    return [
        f"{document.relative_to(root)}: {finding}"
        for document in sorted(documents)
        if document.name != "CHANGELOG.md"
        for finding in sources.unknown_in(document.read_text(encoding="utf-8"), document.parent)
    ]


@dataclass(frozen=True)
class Sources:
    """What the checkout at `root` has: files, targets of make, and the text of its code."""

    root: Path

    def unknown_in(self, text: str, folder: Path) -> Iterator[str]:
        """Yield a sentence for each name in the text of a document of `folder` that does not exist."""
        tests: list[tuple[re.Pattern[str], Callable[[str], bool], str]] = [
            (_FILE, self._has_file, "is no file of the sources"),
            (_PATH, lambda name: (self.root / name).exists(), "is no file of the sources"),
            (_LINK, lambda name: (folder / name).exists(), "is the address of a link and does not exist"),
            (_KEY, lambda name: name in FOREIGN or name in self._code or self._has_file(name), "is in no source file"),
            (_TARGET, lambda name: f"\n{name}:" in self._makefile, "is no target of make"),
            (_QUESTION, lambda name: (self.root / "bench" / name / "run.py").exists(), "is no question of the bench"),
            (_UNPUBLISHED, lambda _: False, "cannot be typed: no package index has it"),
        ]
        for pattern, exists, why in tests:
            for match in sorted({match[match.lastindex or 0] for match in pattern.finditer(text)}):
                if not exists(match):
                    yield f"`{match}` {why}"
        for block in _BLOCK.findall(text):
            for finding in examine(block.encode(), "properties", (), {}).findings:
                if finding.sentence.startswith("unknown"):
                    yield str(finding)

    def _has_file(self, name: str) -> bool:
        if "/" not in name:
            return name in self._names or (self.root / name).exists()
        bases = [self.root, *(self.root / folder for folder in ("src/twinlog", "tests", "docs", "deploy"))]
        return any((base / name).exists() for base in bases)

    @cached_property
    def _names(self) -> frozenset[str]:
        folders = ("src", "tests", "bench", "docgen", "docs", "deploy")
        return frozenset(path.name for folder in folders for path in (self.root / folder).rglob("*.*"))

    @cached_property
    def _code(self) -> str:
        files = [file for folder in ("src", "deploy") for kind in _CODE for file in (self.root / folder).rglob(kind)]
        return "\n".join(file.read_text(encoding="utf-8") for file in [*files, self.root / "pyproject.toml"])

    @cached_property
    def _makefile(self) -> str:
        return (self.root / "Makefile").read_text(encoding="utf-8")
