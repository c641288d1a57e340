import re
import tomllib
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from twinlog.config.resolve import load_file, resolve

ROOT = Path(__file__).parents[2]


def test_the_link_of_the_compose_file_is_valid_and_leads_between_its_brokers():
    services = yaml.safe_load((ROOT / "deploy/docker/compose.yml").read_text())["services"]
    (link,) = load_file(ROOT / "deploy/docker/links.properties").links
    for alias in (link.source, link.target):
        assert services[alias]["environment"]["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{alias}:9092"
    assert services["twinlog"]["volumes"] == ["./links.properties:/etc/twinlog/twinlog.properties:ro"]
    assert link.source_admin.bootstrap_servers + link.target_admin.bootstrap_servers == ("east:9092", "west:9092")


def test_the_light_install_asks_for_the_same_versions_and_for_no_spark():
    whole = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    lines = (ROOT / "deploy/client/requirements.txt").read_text().splitlines()
    light = {line for line in lines if not line.startswith("#")}
    assert light <= whole
    assert not {re.split(r"[\[><=]", line)[0] for line in light} & {"pyspark", "pyarrow", "fastapi"}


def test_the_settings_that_the_chart_comes_with_are_valid_without_a_remark():
    values = yaml.safe_load((ROOT / "deploy/helm/twinlog/values.yaml").read_text())
    resolved = resolve(values["config"].encode(), "values.yaml", (), {})
    assert ([link.name for link in resolved.links], resolved.findings) == (["east->west"], ())


def test_the_chart_is_of_the_version_of_the_code():
    chart = yaml.safe_load((ROOT / "deploy/helm/twinlog/Chart.yaml").read_text())
    assert chart["appVersion"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
