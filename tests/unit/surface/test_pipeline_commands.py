"""`twinlog pipeline` against a service on paper: what is said, for people and programs, also for wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest
from tests.kit.browser import served
from tests.kit.commands import run_command
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.paper_pipelines import PaperPipelines, paper_desk

ORDERS = "orders-to-search"


@pytest.fixture(scope="module")
def paper() -> PaperPipelines:
    return paper_desk()


@pytest.fixture(scope="module")
def url(paper: PaperPipelines) -> Iterator[str]:
    with served(everything(PaperBackend(pipelines=paper))) as address:
        yield address


class Told(NamedTuple):
    exit_code: int
    output: str
    error: str


Run: TypeAlias = Callable[..., Told]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: Told(*run_command(monkeypatch, capsys, "pipeline", *arguments))


def test_the_list_has_state_lag_and_cause(run: Run, url: str) -> None:
    told = run("list", "--url", url)
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert [line.split()[0] for line in lines] == ["pipeline", "customers", "old-export", ORDERS, "payments-to-table"]
    assert "DEGRADED" in lines[4]
    assert "connection refused" in lines[4]
    assert "unknown" in lines[4]
    assert " 0 " not in lines[2], "what does not run has no numbers"
    rows = json.loads(run("list", "--url", url, "-o", "json").output)
    assert [row["state"] for row in rows] == ["RUNNING", "PAUSED", "RUNNING", "DEGRADED"]


def test_an_unknown_name_and_a_missing_service_are_told_with_the_way_out(run: Run, url: str) -> None:
    for command in (("show", "nothing"), ("dlq", "list", "nothing"), ("offsets", "nothing")):
        told = run(*command, "--url", url)
        assert told.exit_code != 0
        assert "404" in told.error
        assert "twinlog pipeline list" in told.error
    away = run("list", "--url", "http://127.0.0.1:9")
    assert away.exit_code != 0
    assert "127.0.0.1:9" in away.error
    assert "Traceback" not in away.error
    assert "does not start with" in run("list", "--url", "127.0.0.1:8083").error


def test_parked_records_are_listed_shown_replayed_and_dropped_through_the_service(
    run: Run, url: str, paper: PaperPipelines, tmp_path: Path
) -> None:
    listed = run("dlq", "list", ORDERS, "--url", url)
    assert listed.output.splitlines()[0] == "orders-dlq: 3 open, 0 replayed, 0 dropped"
    assert "0:7" in listed.output
    assert len(json.loads(run("dlq", "list", ORDERS, "--url", url, "--reason", "(8)", "-o", "json").output)) == 1
    assert run("dlq", "show", ORDERS, "--url", url, "--at", "0:9", "--raw").output == '{"id": "x9"'
    for wrong, says in (
        (("replay", ORDERS, "--at", "0:99"), "there is no dead letter at 0:99"),
        (("replay", ORDERS, "--at", "nine"), "two numbers"),
        (("replay", ORDERS, "--value", "nowhere"), "3 are chosen"),
        (("replay", ORDERS, "--reason", "nobody says this"), "no open record is chosen"),
        (("show", ORDERS, "--raw"), "3 are chosen"),
        (("drop", ORDERS), "choose records"),
        (("list", ORDERS, "--topic", "other"), "--config"),
    ):
        told = run("dlq", *wrong, "--url", url)
        assert (told.exit_code, says in told.error) == (2, True), (wrong, told)
    assert paper.ordered == []
    dry = run("dlq", "replay", ORDERS, "--url", url, "--dry-run")
    assert "0:7" in dry.output + dry.error
    assert paper.ordered == []
    repaired = tmp_path / "repaired.json"
    repaired.write_text('{"id": 9}')
    told = run("dlq", "replay", ORDERS, "--url", url, "--at", "0:9", "--value", str(repaired))
    assert told.output == "orders-dlq: 1 written back\n"
    assert run("dlq", "drop", ORDERS, "--url", url, "--reason", "(7)").output == "orders-dlq: 1 dropped\n"
    assert paper.ordered == [
        ("replayed", ORDERS, ["0:9"], {"0:9": b'{"id": 9}'}),
        ("dropped", ORDERS, ["0:7"], {}),
    ]
    again = run("dlq", "replay", ORDERS, "--url", url, "--at", "0:9")
    assert again.exit_code != 0
    assert "is not open: replayed" in again.error


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("validate", None, "the file cannot be read"),
        ("validate", "{", "this is no JSON"),
        ("validate", "{}", "has no name"),
        ("explain", '{"name": "x", "config": {"connector.class": "FileStreamSinc"}}', "did you mean org.apache"),
        ("test", None, "the file cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(
    run: Run, tmp_path: Path, command: str, text: str | None, says: str
) -> None:
    file = tmp_path / "connector.json"
    if text is not None:
        file.write_text(text)
    told = run(command, str(file), *([str(tmp_path / "cases.yaml")] if command == "test" else []))
    assert told.exit_code == 2
    assert says in told.error
    assert "Traceback" not in told.error


@pytest.mark.parametrize(
    ("cases", "says"), [(None, "the file cannot be read"), ("- [", "this is no YAML"), ("- {in: 3}", "needs `in`")]
)
def test_wrong_cases_are_refused_before_spark_starts(run: Run, tmp_path: Path, cases: str | None, says: str) -> None:
    file, given = tmp_path / "sink.json", tmp_path / "cases.yaml"
    file.write_text('{"name": "x", "config": {"connector.class": "FileStreamSink", "file": "/x", "topics": "t"}}')
    if cases is not None:
        given.write_text(cases)
    told = run("test", str(file), str(given))
    assert told.exit_code == 2
    assert says in told.error
