"""Names, selections and provenance of the links of a file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import pytest

from twinlog.config.resolve import Resolved, resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import SettingsInvalid
from twinlog.model.routes.provenance import Override

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
RING = ("A->B", "B->C", "C->A")
MESH = tuple(f"{a}->{b}" for a, b in permutations("ABC", 2))


def load(links: tuple[str, ...], settings: Mapping[str, str], clusters: tuple[str, ...] = ()) -> Resolved:
    aliases = sorted({alias for link in links for alias in link.split("->")})
    lines = [f"clusters = {', '.join(aliases)}", *(f"{alias}.bootstrap.servers = {alias}:9092" for alias in aliases)]
    lines += [f"{link}.enabled = true" for link in links]
    lines += [f"{key} = {value}" for key, value in settings.items()]
    return resolve("\n".join(lines).encode("latin-1"), "test.properties", clusters, {})


def one(settings: Mapping[str, str]) -> LinkSettings:
    (link,) = load(("A->B",), settings).links
    return link


def refusal(links: tuple[str, ...], settings: Mapping[str, str]) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        load(links, settings)
    return str(caught.value)


def test_provenance_is_by_batch_where_names_are_the_same_and_off_where_prefixes_tell() -> None:
    assert {link.provenance.mode for link in load(("A->B", "B->A"), IDENTITY).links} == {"batch"}
    assert {link.provenance.mode for link in load(("A->B", "B->A"), {}).links} == {"off"}
    mixed = {f"A->B.{key}": value for key, value in IDENTITY.items()}
    assert {link.provenance.mode for link in load(("A->B", "B->A"), mixed).links} == {"batch"}


def test_a_full_mesh_copies_what_was_born_at_the_source_and_says_so() -> None:
    resolved = load(MESH, IDENTITY)
    assert {link.provenance.relay for link in resolved.links} == {"none"}
    assert any("full mesh" in finding.sentence for finding in resolved.findings)
    assert {link.provenance.relay for link in load(("A->B", "B->A", "B->C", "C->B"), IDENTITY).links} == {"all"}


def test_the_topology_is_that_of_the_file_whatever_this_process_runs() -> None:
    (link, _) = load(MESH, IDENTITY, clusters=("B",)).links
    assert link.provenance.relay == "none"


@pytest.mark.parametrize(
    ("links", "settings", "reason"),
    [
        (("A->B", "B->A"), {"provenance.mode": "off"}, "would come back to A"),
        (RING, {}, "provenance.header.enable = true"),
        (MESH, {"provenance.header.enable": "true"}, "twice"),
        (RING, {"provenance.relay": "all"}, "would come back"),
    ],
)
def test_a_topology_that_loops_is_refused_with_the_reason(
    links: tuple[str, ...], settings: dict[str, str], reason: str
) -> None:
    said = refusal(links, {**IDENTITY, **settings})
    assert "the links form a loop" in said
    assert reason in said


def test_a_ring_runs_with_headers() -> None:
    links = load(RING, {**IDENTITY, "provenance.header.enable": "true"}).links
    assert {link.provenance.mode for link in links} == {"header"}


def test_what_contradicts_itself_is_refused() -> None:
    said = refusal(("A->B",), {"provenance.header.enable": "true", "provenance.mode": "batch"})
    assert "provenance.mode: contradicts provenance.header.enable" in said
    timed = {"provenance.header.filter.overrides": "A,orders,1-2"}
    assert "a time needs provenance.header.enable" in refusal(("A->B",), {**IDENTITY, **timed})
    assert "part 1" in refusal(("A->B",), {"provenance.header.filter.overrides": "A,orders"})
    assert "once" in refusal(("A->B",), {"topic.rename.format": "orders"})
    assert "it has" in refusal(("A->B",), {"topic.regex": "a{1,"})


def test_overrides_are_read() -> None:
    settings = {"provenance.header.enable": "true", "provenance.header.filter.overrides": "x.*,orders,5-;y,.*,-"}
    assert one(settings).provenance.overrides == (Override("x.*", "orders", 5), Override("y", ".*"))


@pytest.mark.parametrize(
    ("settings", "copied"),
    [
        ({"topic.whitelist": "a.b, c"}, "a.b c"),
        ({"topic.regex": "c{1,2}"}, "c cc"),
        ({"topic.whitelist": "a.b", "topic.regex": "c+"}, "a.b c cc"),
        ({"topic.whitelist": "a.b,c", "topic.blacklist": "c"}, "a.b"),
        ({"topic.blacklist": "c"}, "a.b axb cc x.replica"),
        ({"topic.whitelist": "x.replica"}, "x.replica"),
        ({"topic.whitelist": ""}, ""),
        ({"topic.whitelist": "c", "topics": "a.*"}, "a.b axb c"),
    ],
)
def test_replicators_words_select_by_name_and_by_one_expression(settings: dict[str, str], copied: str) -> None:
    selection = one({**settings, "topics.exclude": "nothing"} if "topic.blacklist" in settings else settings).topics
    names = ("a.b", "axb", "c", "cc", "x.replica")
    assert [name for name in names if selection.matches(name)] == copied.split()


def test_a_rename_format_decides_the_names() -> None:
    link = one({"topic.rename.format": "dc1-${topic}.copy"})
    assert link.naming.remote("A", "orders") == "dc1-orders.copy"
    assert link.provenance.mode == "batch"
    both = load(("A->B", "B->A"), {"topic.rename.format": "${topic}.copy"}).links
    assert all(link.naming.is_cycle("orders.copy", link.source, link.target) for link in both)
    clash = {"topic.rename.format": "${topic}", "replication.policy.class": "DefaultReplicationPolicy"}
    findings = load(("A->B",), clash).findings
    assert any(f.key == "replication.policy.class" and "no effect" in f.sentence for f in findings)
