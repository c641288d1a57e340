"""Answers that were recorded from a Confluent registry are no part of the repository: they are played where they are.

`TWINLOG_REGISTRY_RECORDED` names their folder; without it, it is looked for beside the repository.
"""

import pytest
from tests.unit.registry.recorded import FOLDER

collect_ignore = [] if FOLDER.is_dir() else ["test_recorded_answers.py", "test_recorded_topic.py"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was not played; nothing is left out silently."""
    if collect_ignore:
        terminalreporter.write_line(f"Recorded answers of a Confluent registry were not played: {FOLDER} is not there.")
