from collections import deque
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.config.telling.samples import sample
from twinlog.errors import ClusterUnreachable
from twinlog.model.health.movement import Movement
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.records import Engine
from twinlog.model.names import TopicPartition
from twinlog.surface.cli.commands.status import summary
from twinlog.surface.cli.commands.top import Seen, screen
from twinlog.surface.cli.main import app

MOVES: dict[str, dict[TopicPartition, Movement]] = {"east->west": {TopicPartition("orders", 99): "STALL"}}


@pytest.fixture
def links() -> tuple[LinkSettings, ...]:
    return resolve(sample("active-active").encode(), "f", (), {}).links


def drawn(found: Seen, height: int = 24) -> list[str]:
    console = Console(width=80, height=height, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(screen(Path("f"), found, {"east->west": deque([1.0, 5.0])}, MOVES, (80, height)))
    return console.export_text().splitlines()


def test_the_furthest_partitions_come_first_and_all_fits_the_screen(links: tuple[LinkSettings, ...]):
    parts = tuple(PartitionStatus(TopicPartition("orders", n), "orders", 0, n * 10, None) for n in range(100))
    status = LinkStatus("east->west", Engine(engine_id="e", phase="running"), parts, now_ms=1)
    lines = drawn([(links[0], status), (links[1], ClusterUnreachable("east", "no answer"))])
    assert len(lines) <= 24
    text = "\n".join(lines)
    assert "…" not in "\n".join(lines[:6])
    assert "west->east: east" in text
    assert text.index("orders-99") < text.index("orders-98")
    states = {line.split()[0]: line.split()[2] for line in lines if line.strip().startswith("orders-")}
    assert (states["orders-99"], states["orders-98"]) == ("STALL", "OK")
    assert "orders-0 " not in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_name_of_a_link_is_never_lost_to_numbers(links: tuple[LinkSettings, ...], width: int):
    status = LinkStatus("east->west", Engine(engine_id="e", phase="running"), (), now_ms=1)
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(summary([(links[0], status), (links[1], ClusterUnreachable("east", "no answer"))], width))
    text = console.export_text()
    assert "east->west" in text
    assert "west->east" in text
    assert "faults" in text


def test_many_troubles_leave_room_and_are_counted(links: tuple[LinkSettings, ...]):
    lines = drawn([(links[0], ClusterUnreachable("west", "no answer")) for _ in range(4)], height=12)
    assert any("and 2 more" in line for line in lines)


def test_without_a_terminal_it_points_at_status(tmp_path: Path):
    file = tmp_path / "f.properties"
    file.write_text(sample("chain"))
    assert "twinlog status" in str(CliRunner().invoke(app, ["top", "-c", str(file)]).exception)
