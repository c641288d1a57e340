"""The links file that mirrors local clusters, ready to paste into `links.properties`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from twinlog.local.cluster import LocalCluster

_SECRET = "sasl.jaas.config"  # noqa: S105 - the name of the key, not its value


def links_properties(clusters: Sequence[LocalCluster], *, same_names: bool = False) -> str:
    """Return the file: each cluster, and a link from each to the next. Secrets are referred to, never written (R12).

    With `same_names` copies have the names of their originals, so that after a failover producers find their topics.
    """
    lines = [f"clusters = {', '.join(cluster.name for cluster in clusters)}", ""]
    if same_names:
        lines += ["replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy", ""]
    for cluster in clusters:
        for key, value in cluster.client_properties().items():
            if key == "security.protocol" and not cluster.secure:
                continue
            shown = f"${{file:{cluster.client_file()}:{key}}}" if key == _SECRET else value
            lines.append(f"{cluster.name}.{key} = {shown}")
        lines.append("")
    for source, target in pairwise(clusters):
        lines += [f"{source.name}->{target.name}.enabled = true", f"{source.name}->{target.name}.topics = .*", ""]
    if clusters:
        lines += ["# A schema registry beside the links, with `twinlog run --listen`:"]
        lines += ["# registry.listeners = http://127.0.0.1:8081", f"# registry.cluster = {clusters[0].name}", ""]
    return "\n".join(lines)
