"""The wheels as strangers install them: pip, an empty environment, an empty home. `make package` builds and runs this.

What is said to applications in docs/client.md is run there word for word, with the addresses of the clusters at hand.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.waiting import wait_until

ROOT = Path(__file__).parents[2]
RECORDS, READ = 1000, 400
WITHIN_S = 180.0
pytestmark = pytest.mark.timeout(1500)


@dataclass(frozen=True)
class Newcomer:
    """Somebody with a virtual environment, a home and nothing else."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        # Java and a mirror of package registries are the machine's; everything of Twinlog's is new.
        kept = {key: value for key, value in os.environ.items() if not re.match("TWINLOG|XDG|VIRTUAL_ENV|PYTHON", key)}
        kept |= {key: os.environ[key] for key in ("TWINLOG_MAVEN_URL",) if key in os.environ}
        path = os.pathsep.join([str(self.home / "venv/bin"), os.environ["PATH"]])
        return {**kept, "HOME": str(self.home), "PATH": path, "COLUMNS": "200"}

    def run(self, *command: str, within_s: float = WITHIN_S, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run it at home."""
        done = subprocess.run(
            command, cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=within_s, check=False
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Run it in the background; what it says is in `said`."""
        with (self.home / "said").open("wb") as said:
            return subprocess.Popen(command, cwd=self.home, env=self.environment, stdout=said, stderr=said)

    def install(self, wheel: Path) -> None:
        """As the guide says, into an environment of its own."""
        self.home.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.home / "venv"], check=True)
        # pip may remember what it downloaded before; it installs all of it anew.
        cache = f"--cache-dir={ROOT / '.state/pip-cache'}"
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", cache, str(wheel), within_s=900)


def wheel_in(folder: str) -> Path:
    wheels = sorted((ROOT / folder).glob("*.whl"))
    assert len(wheels) == 1, f"{folder}: `make package` leaves one wheel there, not {wheels}"
    return wheels[0]


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    newcomer = Newcomer(tmp_path_factory.mktemp("operator") / "home")
    newcomer.install(wheel_in("dist"))
    return newcomer


@pytest.fixture(scope="module")
def developer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    newcomer = Newcomer(tmp_path_factory.mktemp("developer") / "home")
    newcomer.install(wheel_in("dist/client"))
    return newcomer


@pytest.fixture(scope="module")
def servers(operator: Newcomer) -> Iterator[dict[str, str]]:
    """Two clusters with a file that links them; `orders` on east with a group that has read a part of it."""
    try:
        printed = operator.run("twinlog", "local", "up", "east", "west", within_s=600).stdout
        # docs/client.md is about the default policy, whose copies have the name of their source in front.
        links = re.sub(r"^replication\.policy\.class.*\n", "", printed, flags=re.MULTILINE)
        assert links != printed
        (operator.home / "links.properties").write_text(links)
        at = {alias: links.split(f"{alias}.bootstrap.servers = ")[1].split()[0] for alias in ("east", "west")}
        make_orders(at["east"])
        yield at
    finally:
        operator.run("twinlog", "local", "down", "--wipe")


def make_orders(east: str) -> None:
    admin = AdminClient({"bootstrap.servers": east})
    admin.create_topics([NewTopic("orders", 1)])["orders"].result()
    producer = Producer({"bootstrap.servers": east})
    for number in range(RECORDS):
        producer.produce("orders", f"order {number}".encode(), key=b"%d" % number, partition=0)
    assert producer.flush(60) == 0
    group = Consumer({"bootstrap.servers": east, "group.id": "billing"})
    group.commit(offsets=[TopicPartition("orders", 0, READ)], asynchronous=False)
    group.close()


@pytest.fixture(scope="module")
def mirror(operator: Newcomer, servers: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    del servers
    process = operator.start("twinlog", "run", "-c", "links.properties")
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def link_of(operator: Newcomer) -> dict[str, Any]:
    answer = operator.run("twinlog", "status", "-c", "links.properties", "-o", "json", check=False)
    (link,) = json.loads(answer.stdout) if answer.stdout else [{"state": answer.stderr}]
    return {**link, "said": (operator.home / "said").read_text()}


def test_an_empty_environment_writes_and_checks_a_file(operator: Newcomer):
    operator.run("twinlog", "init", "--template", "active-passive")
    answer = operator.run("twinlog", "validate", "-c", "twinlog.properties")
    assert "east->west" in answer.stdout
    assert answer.stderr == ""


def test_an_application_that_installs_the_client_does_not_install_spark(developer: Newcomer):
    listed = json.loads(developer.run("pip", "list", "--format", "json").stdout)
    held = {package["name"].lower() for package in listed}
    assert "twinlog-client" in held
    assert not held & {"twinlog", "pyspark", "pyarrow", "py4j", "fastapi", "typer"}


@pytest.mark.proves("R1", "R5")
def test_a_link_of_an_empty_environment_copies_everything_and_ends_cleanly(
    operator: Newcomer, developer: Newcomer, servers: dict[str, str], mirror: subprocess.Popen[bytes]
):
    wait_until(lambda: link_of(operator), lambda link: link["state"] == "RUNNING", within_s=WITHIN_S, what="a link")
    copied = Consumer({"bootstrap.servers": servers["west"], "group.id": "looks"})
    place = TopicPartition("east.orders", 0)
    wait_until(lambda: end_of(copied, place), lambda end: end == RECORDS, within_s=WITHIN_S, what="the copy")
    copied.close()

    followed = developer.run("python", "-c", as_documented(servers))
    assert "the same record lies at 120" in followed.stdout
    assert f"next: order {READ}\n" in followed.stdout
    assert "'east.orders'" in followed.stdout

    verdict = operator.run("twinlog", "verify", "east->west", "-c", "links.properties", "--topics", "orders")
    assert f"east->west: equal: {RECORDS:,} records" in verdict.stdout
    mirror.send_signal(signal.SIGTERM)
    assert mirror.wait(30) == 0, (operator.home / "said").read_text()


def end_of(consumer: Consumer, place: TopicPartition) -> int:
    if place.topic not in consumer.list_topics(timeout=10).topics:
        return -1
    return int(consumer.get_watermark_offsets(place, timeout=10)[1])


def as_documented(servers: dict[str, str]) -> str:
    """All examples of docs/client.md in their order; between them, what an application would do."""
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs/client.md").read_text(), re.DOTALL)
    settings = "open('mm2.properties', 'w').write('''clusters = east, west\neast->west.enabled = true\n"
    settings += "".join(f"{alias}.bootstrap.servers = {at}\n" for alias, at in servers.items()) + "''')\n"
    script = settings
    for example in examples:
        for alias, at in servers.items():
            example = example.replace(f"{alias}:9092", at)  # noqa: PLW2901  one address after the other
        if "translate_offsets(" in example:
            # A group that was ahead of the copy is told of again once the copy has caught up.
            script += "import time\nstands = lambda: west.translate_offsets('billing', source='east').values()\n"
            script += f"while [at.offset for at in stands()] != [{READ}]: time.sleep(0.2)\n"
        if "translate_by_timestamps(" in example:
            # A topic that was made a moment ago may have no leader yet.
            script += "from twinlog.client import ClusterError\nstands = None\nwhile stands is None:\n    try:\n"
            script += "        stands = west.translate_by_timestamps('billing', source='east')\n"
            script += "    except ClusterError:\n        time.sleep(0.2)\n"
        script += example
        if "consumer.assign(" in example:
            script += "print('next:', consumer.poll(60).value().decode())\nconsumer.close()\n"
        if "stamps.watch(" in example:
            script += "consumer.subscribe(['orders'])\nassert consumer.poll(60).error() is None\n"
            script += "consumer.commit(asynchronous=False)\nconsumer.close()\nstamps.close()\n"
    return script
