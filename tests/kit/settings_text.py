"""Settings files of one link as text: resolved, or what is wrong with them."""

from twinlog.config.resolve import Resolved, resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import Finding, SettingsInvalid

MINIMAL = """\
clusters = A, B
A.bootstrap.servers = a1:9092, a2:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
"""


def resolved(more: str = "", clusters: tuple[str, ...] = (), text: str = MINIMAL) -> Resolved:
    return resolve((text + more).encode("latin-1"), "links.properties", clusters, {})


def link(more: str = "") -> LinkSettings:
    (only,) = resolved(more).links
    return only


def findings(more: str, text: str = MINIMAL) -> list[Finding]:
    try:
        return list(resolved(more, text=text).findings)
    except SettingsInvalid as invalid:
        return list(invalid.findings)


def errors(more: str, text: str = MINIMAL) -> list[str]:
    return [str(one) for one in findings(more, text) if one.level == "error"]
