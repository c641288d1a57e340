"""What these tests need beside the repository: a Confluent registry's scenarios; Go, Node and npm for other clients."""

import shutil

import pytest
from tests.unit.registry.recorded import FOLDER

MISSING = [tool for tool in ("go", "node", "npm") if shutil.which(tool) is None]
collect_ignore = [] if FOLDER.is_dir() else ["test_registry_scenarios.py"]
collect_ignore += ["test_registry_clients.py"] if MISSING else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was not played; nothing is left out silently."""
    if MISSING:
        terminalreporter.write_line(
            f"Registry clients of other languages were not tried: no {', '.join(MISSING)} here."
        )
    if not FOLDER.is_dir():
        terminalreporter.write_line(f"Scenarios of a Confluent registry were not played: {FOLDER} is not there.")
