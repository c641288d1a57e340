import json
from pathlib import Path

import pytest
from tests.kit.validated import run

FILE = """\
clusters = A, B, C
bootstrap.servers = k:9092
A->B.enabled = true
A->C.enabled = true
topics = [a-z]+
on.gpa = skip
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "links.properties"
    path.write_text(FILE)
    return path


def test_a_good_file_shows_each_link_with_the_lines_and_its_remarks(file: Path):
    code, output = run("-c", str(file))
    assert code == 0
    assert f"{file}:6: on.gpa: unknown and ignored; did you mean on.gap?" in output
    (topics,) = {" ".join(line.split()) for line in output.splitlines() if line.startswith(" topics ")}
    assert topics == "topics [a-z]+ line 5"
    assert "A->B" in output
    assert "A->C" in output
    assert "B->A is not mirrored; a heartbeat is written to A every 1 s" in output


@pytest.mark.parametrize("arguments", [("--clusters", "C"), ("--clusters", "C,C"), ("--clusters", " C ,")])
def test_clusters_choose_the_targets(file: Path, arguments: tuple[str, ...]):
    code, output = run("-c", str(file), "-o", "json", *arguments)
    assert code == 0
    assert [link["link"] for link in json.loads(output)["links"]] == ["A->C"]


def test_json_tells_the_same(file: Path):
    code, output = run("-c", str(file), "--output", "json")
    answer = json.loads(output)
    assert code == 0
    assert answer["valid"] is True
    assert [(one["level"], one["line"], one["key"]) for one in answer["findings"]] == [("warning", 6, "on.gpa")]
    chosen = [one for one in answer["links"][0]["settings"] if one["setting"] == "topics"]
    assert answer["heartbeats_only"] == ["B->A", "B->C", "C->A", "C->B"]
    assert chosen == [{"setting": "topics", "value": "[a-z]+", "key": "topics", "line": 5}]


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_wrong_file_ends_with_code_2_and_all_errors(file: Path, output: str):
    file.write_text(FILE + "tasks.max = many\non.gap = maybe\n")
    code, told = run("-c", str(file), "-o", output)
    assert code == 2
    if output == "json":
        answer = json.loads(told)
        assert answer["valid"] is False
        assert [one["line"] for one in answer["findings"] if one["level"] == "error"] == [7, 8]
    else:
        assert f"{file}:7: tasks.max: many is not valid" in told
        assert f"{file}:8: on.gap: maybe is not valid" in told


def test_a_missing_file_ends_with_code_2(tmp_path: Path):
    code, output = run("-c", str(tmp_path / "none"))
    assert code == 2
    assert "cannot be read" in output


def test_only_what_the_file_sets_is_shown_and_the_rest_with_all(file: Path):
    _, short = run("-c", str(file))
    _, long = run("-c", str(file), "--all")
    assert "emit.heartbeats.enabled" not in short
    assert "emit.heartbeats.enabled" in long
    assert short.count("bootstrap.servers") < long.count("bootstrap.servers") + 1
    assert "--all shows them" in short
    assert "--all shows them" not in long


def test_the_last_line_is_the_verdict(file: Path):
    _, output = run("-c", str(file))
    assert output.splitlines()[-1] == f"{file}: valid. 2 links: A->B, A->C. 1 warning, 0 notes."
    assert output.splitlines()[-2].startswith("warning ")


def test_the_verdict_of_a_wrong_file_follows_its_errors(file: Path):
    file.write_text("tasks.max = many\n" + FILE)
    _, output = run("-c", str(file))
    assert output.splitlines()[-1] == f"{file}: not valid: 1 error, 1 warning, 0 notes. Nothing would be started."
    assert output.splitlines()[-2].startswith("error ")


def test_clients_of_one_end_with_the_same_value_are_one_row(file: Path):
    file.write_text("clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n")
    _, output = run("-c", str(file))
    rows = [" ".join(line.split()) for line in output.splitlines() if "bootstrap.servers" in line]
    assert rows == [
        "source: bootstrap.servers a:1 line 2: A.bootstrap.servers",
        "target: bootstrap.servers b:1 line 3: B.bootstrap.servers",
    ]


def test_no_name_is_broken_without_a_terminal(file: Path):
    file.write_text(FILE + f"topics.exclude = {'x' * 190}\n")
    _, output = run("-c", str(file))
    assert "x" * 190 in output
