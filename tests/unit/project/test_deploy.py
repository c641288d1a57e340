import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import yaml

from twinlog.config.resolve import load_file, resolve

ROOT = Path(__file__).parents[3]


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def names(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[\[><=]", one)[0].lower().replace("_", "-") for one in requirements}


def modules(place: str, inside: str) -> Iterator[tuple[str, Path]]:
    """What a line of force-include puts into the wheel, by the name that it is imported by."""
    root = ROOT / "deploy/client" / place
    for path in [root] if root.is_file() else root.rglob("*.py"):
        if path.suffix == ".py":
            parts = Path(inside, path.relative_to(root)).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[str]:
    """All of them, those within functions and for types as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_link_of_the_compose_file_is_valid_and_leads_between_its_brokers():
    services = yaml.safe_load((ROOT / "deploy/docker/compose.yml").read_text())["services"]
    (link,) = load_file(ROOT / "deploy/docker/links.properties").links
    for alias in (link.source, link.target):
        assert services[alias]["environment"]["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{alias}:9092"
    assert services["twinlog"]["volumes"] == ["./links.properties:/etc/twinlog/twinlog.properties:ro"]
    assert link.clients.source_admin.bootstrap_servers + link.clients.target_admin.bootstrap_servers == (
        "east:9092",
        "west:9092",
    )


def test_the_light_client_asks_for_the_same_versions_and_for_no_spark():
    whole, light = (project(place)["project"] for place in (".", "deploy/client"))
    assert light["version"] == whole["version"]
    assert light["requires-python"] == whole["requires-python"]
    assert set(light["dependencies"]) <= set(whole["dependencies"])
    assert not names(light["dependencies"]) & {"pyspark", "pyarrow", "fastapi"}


def test_the_light_client_imports_nothing_that_it_does_not_bring():
    client = project("deploy/client")
    places = client["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    held = {module: path for place, inside in places.items() for module, path in modules(place, inside)}
    assert "twinlog.client.mirror_client" in held
    imported = {module: set(imports(path)) for module, path in held.items()}
    missing = {
        (module, one)
        for module, those in imported.items()
        for one in those
        # `from twinlog.model import names` imports a module, `from twinlog.model.names import Topic` a word of it.
        if one.startswith("twinlog.") and not {one, one.rpartition(".")[0]} & (set(held) - {"twinlog"})
    }
    assert missing == set()
    foreign = (
        {one.split(".")[0] for those in imported.values() for one in those} - sys.stdlib_module_names - {"twinlog"}
    )
    brought_by = packages_distributions()
    brought = {next(iter(names(brought_by[one]))) for one in foreign}
    assert brought == names(client["project"]["dependencies"])


def test_the_settings_that_the_chart_comes_with_are_valid_without_a_remark():
    values = yaml.safe_load((ROOT / "deploy/helm/twinlog/values.yaml").read_text())
    resolved = resolve(values["config"].encode(), "values.yaml", (), {})
    assert ([link.name for link in resolved.links], resolved.findings) == (["east->west"], ())


def test_the_chart_is_of_the_version_of_the_code():
    chart = yaml.safe_load((ROOT / "deploy/helm/twinlog/Chart.yaml").read_text())
    assert chart["appVersion"] == project(".")["project"]["version"]


def test_the_unit_takes_orders_through_a_socket_of_its_group():
    text = (ROOT / "deploy/systemd/twinlog@.service").read_text().replace("\\\n", " ")
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    listens = re.findall(r"--listen (\S+)", lines["ExecStart"])
    assert listens == ["${LISTEN}", "unix:/run/twinlog/%i/twinlog.sock"]
    assert lines["RuntimeDirectory"] == "twinlog/%i"
    assert lines["RuntimeDirectoryMode"] == "0750", "nobody outside of the group reaches the socket"
