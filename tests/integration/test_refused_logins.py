"""What the operator is told when the target refuses the login: what is seen now, first, and what to correct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from typer.testing import CliRunner

from twinlog.local.cluster import LocalCluster
from twinlog.surface.cli.main import app

pytestmark = pytest.mark.proves("R14")

MISTAKES = {
    "wrong password": ("sasl.jaas.config", "Correct sasl.jaas.config of T"),
    "no TLS": ("security.protocol", "Compare security.protocol of T"),
    "no CA": ("ssl.truststore", "Set ssl.truststore.location of T"),
}


class Mistaken(Ends):
    """A link whose file can be written with one mistake in the login at the target."""

    mistake = ""

    @property
    def properties(self) -> str:
        password = self.target_cluster.password("admin")
        lines = super().properties.splitlines()
        match self.mistake:
            case "wrong password":
                lines = [line.replace(password, "guessed") if line.startswith("T.") else line for line in lines]
            case "no TLS":
                lines.append("T.security.protocol = SASL_PLAINTEXT")
            case "no CA":
                lines = [line for line in lines if not line.startswith("T.ssl.truststore")]
        return "\n".join(lines) + "\n"


def asked(*words: str) -> Any:
    answer = CliRunner().invoke(app, [*words, "-o", "json"])
    assert answer.exit_code == 1, answer.output
    return json.loads(answer.stdout)


def test_a_refused_login_is_told_before_what_an_engine_said(
    source_cluster: LocalCluster, secure_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Mistaken(source_cluster, secure_cluster, **{"T.request.timeout.ms": "5000"})
    ends.load(ends.create("orders"), 1).produce(10)
    for mistake, (_, advice) in MISTAKES.items():
        ends.mistake = mistake
        (link,) = asked("status", "-c", str(ends.write_file(tmp_path)))
        assert "ever run" not in json.dumps(link), (mistake, link)
        assert advice in link["remedy"], (mistake, link)
    ends.mistake = ""
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    for mistake, (_, advice) in MISTAKES.items():
        ends.mistake = mistake
        file = str(ends.write_file(tmp_path))
        (link,) = asked("status", "-c", file)
        assert advice in link["remedy"], (mistake, link)
        checks = {check["name"]: check for check in asked("doctor", ends.link.name, "-c", file)["checks"]}
        assert checks["target-answers"]["verdict"] == "fail"
        assert advice in checks["target-answers"]["remedy"], (mistake, checks["target-answers"])
        assert "kafka-acls" not in checks["transaction-coordinator"]["remedy"]
        assert checks["engine"]["verdict"] == "unknown", (mistake, checks["engine"])
