"""The story of the documentation: MySQL to Kafka to Elasticsearch, a new column, a record parked and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinlog.local.demo.pipelines import PipelinesStory

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


def test_the_story_is_told_to_its_end(tmp_path: Path) -> None:
    lines: list[str] = []
    story = PipelinesStory(tmp_path / "story", lines.append)
    story.folder.mkdir()
    try:
        story.play()
    finally:
        story.close()
    assert lines[-1] == "4 rows and 1 repaired record: 5 documents, each once"
