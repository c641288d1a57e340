"""Strimzi's `KafkaMirrorMaker2` resource (v1beta2 and v1), read as links. Pure.

Certificates and passwords of a Strimzi resource are Kubernetes secrets. A links file refers to files: each secret
becomes a path below /etc/twinlog/secrets/SECRET, where a pod mounts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from twinlog.config.foreign.imported import Imported
from twinlog.errors import UsageError

SECRETS: Final = "/etc/twinlog/secrets"
_PARTS: Final = ("sourceConnector", "checkpointConnector", "heartbeatConnector")
_KUBERNETES: Final = {
    "replicas": "set the replicas of the deployment",
    "resources": "set them in the values of the Helm chart",
    "jvmOptions": "use --spark-conf spark.driver.extraJavaOptions=…",
    "logging": "use the variable TWINLOG_LOG or /admin/loggers",
    "metricsConfig": "/metrics needs no exporter",
    "tracing": "use otel.endpoint",
    "template": "set it in the values of the Helm chart",
    "rack": "set client.rack of the source's consumer",
    "version": "Twinlog has no Kafka version of its own",
    "image": "set it in the values of the Helm chart",
}
_MECHANISMS: Final = {
    "scram-sha-512": ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    "scram-sha-256": ("SCRAM-SHA-256", "scram.ScramLoginModule"),
    "plain": ("PLAIN", "plain.PlainLoginModule"),
}


def import_strimzi(document: Any) -> Imported:
    """Read one resource that YAML or JSON was parsed into. Raises UsageError."""
    if not isinstance(document, dict) or document.get("kind") != "KafkaMirrorMaker2":
        kind = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise UsageError(f"the file holds {kind!r}, not a KafkaMirrorMaker2 resource")
    spec = document.get("spec") or {}
    imported = Imported("Strimzi")
    for key, way in _KUBERNETES.items():
        if key in spec:
            imported.note(f"spec.{key}", way)
    for cluster in _clusters(spec):
        imported.cluster(str(cluster["alias"]), _connection(cluster, imported))
    for number, mirror in enumerate(spec.get("mirrors") or ()):
        _mirror(mirror, number, spec, imported)
    if not imported.links:
        raise UsageError("the resource has no mirrors: spec.mirrors is empty")
    return imported


def _clusters(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the clusters: a list in v1beta2; in v1 the target, and the source of each mirror."""
    yield from spec.get("clusters") or ()
    if "target" in spec:
        yield spec["target"]
    for mirror in spec.get("mirrors") or ():
        if isinstance(mirror.get("source"), dict):
            yield mirror["source"]


def _mirror(mirror: Mapping[str, Any], number: int, spec: Mapping[str, Any], imported: Imported) -> None:
    source = mirror.get("sourceCluster") or (mirror.get("source") or {}).get("alias")
    target = mirror.get("targetCluster") or (spec.get("target") or {}).get("alias") or spec.get("connectCluster")
    if not source or not target:
        raise UsageError(f"spec.mirrors[{number}]: it names no source or no target cluster")
    settings: dict[str, str] = {}
    for key, name in (
        ("topicsPattern", "topics"),
        ("topicsExcludePattern", "topics.exclude"),
        ("topicsBlacklistPattern", "topics.exclude"),
        ("groupsPattern", "groups"),
        ("groupsExcludePattern", "groups.exclude"),
        ("groupsBlacklistPattern", "groups.exclude"),
    ):
        if key in mirror:
            settings[name] = str(mirror[key])
    settings.setdefault("topics", ".*")
    for part in _PARTS:
        connector = mirror.get(part)
        if connector is None and part != "heartbeatConnector":
            if part == "checkpointConnector":
                settings["emit.checkpoints.enabled"] = "false"
            continue
        for key, value in ((connector or {}).get("config") or {}).items():
            settings[str(key)] = _text(value)
        if "tasksMax" in (connector or {}) and part == "sourceConnector":
            settings["tasks.max"] = _text((connector or {})["tasksMax"])
        if (connector or {}).get("autoRestart"):
            imported.note(f"spec.mirrors[{number}].{part}.autoRestart", "Twinlog always restarts what failed")
        if (connector or {}).get("state") in {"paused", "stopped"} or (connector or {}).get("pause"):
            imported.note(f"spec.mirrors[{number}].{part}", "it is paused there; the link is enabled here")
    imported.link(_alias(imported, str(source)), _alias(imported, str(target)), settings)


def _alias(imported: Imported, name: str) -> str:
    return imported.cluster(name, {})


def _connection(cluster: Mapping[str, Any], imported: Imported) -> dict[str, str]:
    settings = {"bootstrap.servers": str(cluster.get("bootstrapServers", ""))}
    tls, login = cluster.get("tls"), cluster.get("authentication") or {}
    kind = str(login.get("type", ""))
    alias = cluster.get("alias")
    if tls is not None or login or kind:
        sasl = bool(kind) and kind != "tls"
        encrypted = tls is not None
        settings["security.protocol"] = {
            (True, True): "SASL_SSL",
            (True, False): "SASL_PLAINTEXT",
            (False, True): "SSL",
            (False, False): "PLAINTEXT",
        }[sasl, encrypted]
    certificates = (tls or {}).get("trustedCertificates") or ()
    if certificates:
        first = certificates[0]
        name = first.get("certificate") or "ca.crt"
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.location"] = f"{SECRETS}/{first.get('secretName')}/{name}"
        if len(certificates) > 1:
            imported.note(f"{alias}.tls.trustedCertificates", "put all certificates into one PEM file")
    settings |= _login(kind, login, str(alias), imported)
    settings |= {str(key): _text(value) for key, value in (cluster.get("config") or {}).items() if _is_own(str(key))}
    for key in cluster.get("config") or {}:
        if not _is_own(str(key)):
            imported.note(f"{alias}.config.{key}", "a Connect worker's setting; Twinlog has no Connect worker")
    return settings


def _login(kind: str, login: Mapping[str, Any], alias: str, imported: Imported) -> dict[str, str]:
    if kind in _MECHANISMS:
        mechanism, module = _MECHANISMS[kind]
        secret = login.get("passwordSecret") or {}
        password = f"${{dir:{SECRETS}/{secret.get('secretName')}:{secret.get('password')}}}"
        return {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
            f'username="{login.get("username")}" password="{password}";',
        }
    if kind == "tls":
        pair = login.get("certificateAndKey") or {}
        imported.note(
            f"{alias}.authentication",
            f"ssl.keystore.location must be one PEM file with {pair.get('key')} and {pair.get('certificate')} in it",
        )
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": f"{SECRETS}/{pair.get('secretName')}/keystore.pem",
        }
    if kind:
        imported.note(
            f"{alias}.authentication", f"type {kind} must be written by hand: sasl.mechanism and sasl.jaas.config"
        )
    return {}


def _is_own(key: str) -> bool:
    return not key.startswith(
        ("config.storage.", "offset.storage.", "status.storage.", "group.id", "connector.client.")
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
