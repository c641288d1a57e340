"""The Helm chart: what it renders is valid for Kubernetes, safe by default, and starts what it says. `make chart`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from twinlog.config.resolve import resolve
from twinlog.config.security.secrets import Secret

CHART = Path(__file__).parents[2] / "deploy/helm/twinlog"
OLDEST, NEWEST = "1.27.0", "1.37.0"
LOGIN = {"http": {"usersSecret": "logins", "insecure": True}}
EVERYTHING = {
    "http": {"usersSecret": "logins", "tlsSecret": "certificate"},
    "groupId": "mirrors",
    "secretName": "passwords",
    "imagePullSecrets": [{"name": "registry"}],
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "tokenSecret": {"name": "scraper"}},
    "podAnnotations": {"example.com/team": "streams"},
    "priorityClassName": "high",
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "streams", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
}
ALONE = {"replicas": 1, "http": {"enabled": False}}
VALUES = {"a login": LOGIN, "everything": EVERYTHING, "alone": ALONE}
pytestmark = pytest.mark.skipif("HELM" not in os.environ, reason="`make chart` brings Helm")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ["HELM"], *arguments], capture_output=True, text=True, check=False)


def template(folder: Path, values: dict[str, Any], version: str = NEWEST) -> subprocess.CompletedProcess[str]:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))
    return helm("template", "mirror", str(CHART), "--kube-version", version, "--values", str(file))


def rendered(folder: Path, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    answer = template(folder, values)
    assert answer.returncode == 0, answer.stderr
    return {one["kind"]: one for one in yaml.safe_load_all(answer.stdout) if one}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_linter_has_nothing_to_say(values: dict[str, Any], tmp_path: Path):
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    answer = helm("lint", "--strict", str(CHART), "--values", str(file))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert re.findall(r"\[(?:WARNING|ERROR)\].*|Fail:.*", answer.stdout + answer.stderr) == []


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_kubernetes_would_take_everything(values: dict[str, Any], version: str, tmp_path: Path):
    answer = template(tmp_path, values, version)
    assert answer.returncode == 0, answer.stderr
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(answer.stdout)
    judge = (
        os.environ["UV"],
        "tool",
        "run",
        "--from",
        "kubernetes-validate==1.37.0",
        "kubernetes-validate",
        "--strict",
    )
    command = [*judge, "-k", version.rpartition(".")[0], str(manifest)]
    verdict = subprocess.run(command, capture_output=True, text=True, check=False)
    said = verdict.stdout + verdict.stderr
    assert verdict.returncode == 0, said
    kinds = {one["kind"] for one in yaml.safe_load_all(answer.stdout) if one}
    # The Prometheus operator's kind is in no schema of Kubernetes.
    assert len(re.findall(r" passed for resource ", said)) == len(kinds - {"ServiceMonitor"}), said


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_pod_may_nothing_that_it_does_not_need(values: dict[str, Any], tmp_path: Path):
    pod = rendered(tmp_path, values)["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"requests", "limits"} <= set(container["resources"])
    assert not [one for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})]
    writable = {one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")}
    assert writable == {"/var/lib/twinlog", "/tmp"}  # noqa: S108  the pod's own


def test_two_pods_stand_by_for_each_other_and_are_asked_how_they_are(tmp_path: Path):
    kinds = rendered(tmp_path, EVERYTHING)
    (container,) = kinds["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert kinds["Deployment"]["spec"]["replicas"] == 2
    assert kinds["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    asked = {name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert asked == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    # Certificates of clients, and whoever takes all connections of the service, do not concern the probes.
    assert {container[name]["httpGet"]["port"] for name in asked} == {"health"}
    assert not any("scheme" in container[name]["httpGet"] for name in asked)


def test_an_image_is_chosen_by_its_digest_where_there_is_one(tmp_path: Path):
    def image(values: dict[str, Any]) -> str:
        (container,) = rendered(tmp_path, values)["Deployment"]["spec"]["template"]["spec"]["containers"]
        return str(container["image"])

    digest = f"sha256:{'0' * 64}"
    assert "@" not in image(LOGIN)
    assert image({**LOGIN, "image": {"tag": "9", "digest": digest}}) == f"twinlog@{digest}"


def test_strangers_do_not_reach_the_service_unless_they_are_named(tmp_path: Path):
    policy = rendered(tmp_path, LOGIN)["NetworkPolicy"]["spec"]
    (rule,) = policy["ingress"]
    assert [port["port"] for port in rule["ports"]] == ["http"]
    assert [list(peer) for peer in rule["from"]] == [["podSelector"]], "pods of the release alone"
    assert "NetworkPolicy" not in rendered(tmp_path, {**LOGIN, "networkPolicy": {"enabled": False}})


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_settings_that_are_rendered_are_valid(values: dict[str, Any], tmp_path: Path):
    text = rendered(tmp_path, values)["ConfigMap"]["data"]["twinlog.properties"]
    for place in set(re.findall(r"/etc/twinlog-\w+", text)):
        text = text.replace(place, str(tmp_path))
    for name in ("users", "tls.crt", "tls.key"):
        (tmp_path / name).touch()
    (tmp_path / "secret").write_text("of the group")
    resolved = resolve(text.encode(), "values.yaml", (), {"POD_IP": "10.1.2.3"})
    assert ([link.name for link in resolved.links], resolved.findings) == (["east->west"], ())
    secure = values is EVERYTHING
    if values is not ALONE:
        assert resolved.service.group_id == ("mirrors" if secure else "default-mirror")
        assert resolved.service.http.advertised_url == f"http{'s' * secure}://10.1.2.3:8083"
        assert resolved.service.http.asks_who
        assert resolved.service.http.health_listen == "0.0.0.0:8084"
        assert resolved.service.http.group_secret == Secret("of the group")
        assert resolved.service.http.tls_insecure is not secure


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "nobody could log in"),
        ({"http": {"usersSecret": "logins"}}, "in clear text"),
        ({"http": {"enabled": False}}, "pods know of each other by HTTP"),
        ({**ALONE, "serviceMonitor": {"enabled": True}}, "metrics are read by HTTP"),
        ({**LOGIN, "replica": 3}, "replica"),
        ({**LOGIN, "replicas": "two"}, "replicas"),
    ],
)
def test_what_would_not_work_is_refused_with_the_reason(values: dict[str, Any], why: str, tmp_path: Path):
    answer = template(tmp_path, values)
    assert answer.returncode != 0
    assert why in answer.stderr
