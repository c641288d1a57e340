"""Links for tests, resolved from the same properties text an operator would write."""

from __future__ import annotations

from collections.abc import Mapping

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.local.cluster import LocalCluster


def link_between(
    source: LocalCluster, target: LocalCluster, settings: Mapping[str, str], *, user: str = "admin"
) -> LinkSettings:
    """Resolve the link A->B with these settings of its own; `user` is who we are on clusters that ask."""
    lines = ["clusters = A, B", "A->B.enabled = true"]
    for alias, cluster in (("A", source), ("B", target)):
        lines += [f"{alias}.{name} = {value}" for name, value in cluster.client_properties(user).items()]
    lines += [f"A->B.{name} = {value}" for name, value in settings.items()]
    (link,) = resolve("\n".join(lines).encode("latin-1"), "test.properties", (), {}).links
    return link
