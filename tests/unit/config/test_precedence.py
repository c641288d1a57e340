"""The precedence of settings against a literal statement of MirrorMaker 2's rule: maps, merged one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.resolve import resolve
from twinlog.config.text.precedence import (
    SOURCE_ADMIN,
    SOURCE_CONSUMER,
    TARGET_ADMIN,
    TARGET_PRODUCER,
    Role,
    client_keys,
    link_keys,
)
from twinlog.model.names import LinkName

SHARED, OWN = "bootstrap.servers", "request.timeout.ms"
LINK = LinkName("A", "B")
ROLES = [SOURCE_CONSUMER, SOURCE_ADMIN, TARGET_PRODUCER, TARGET_ADMIN]
CLIENTS = ["consumer.", "producer.", "admin."]
ENDS = [f"{end}.{kind}" for end in ("source", "target") for kind in ("cluster.", *CLIENTS)]
PREFIXES = [
    *("", *CLIENTS),
    *(f"{alias}.{client}" for alias in "AB" for client in ("", *CLIENTS)),
    *(f"{flow}.{more}" for flow in ("A->B", "B->A") for more in ("", *CLIENTS, *ENDS, "producer.override.")),
]
SPELLINGS = [f"{prefix}{name}" for prefix in PREFIXES for name in (SHARED, OWN)]


def beginning(properties: dict[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in properties.items() if key.startswith(prefix)}


def cluster_properties(file: dict[str, str], alias: str) -> dict[str, str]:
    """All of `alias.*`; then shared names are handed down to the clients, from the cluster first, then from the top."""
    properties = beginning(file, f"{alias}.")
    for origin in (dict(properties), file):
        if SHARED in origin:
            for place in ("producer.", "consumer.", "admin.", ""):
                properties.setdefault(place + SHARED, origin[SHARED])
    return properties


def connector_properties(file: dict[str, str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    for end, alias in (("source", "A"), ("target", "B")):
        for key, value in cluster_properties(file, alias).items():
            properties[f"{end}.{key}" if key.startswith(tuple(CLIENTS)) else f"{end}.cluster.{key}"] = value
    return properties | beginning(file, "A->B.")


def effective(file: dict[str, str], role: Role) -> dict[str, str]:
    """Return what the client of that role is built with."""
    connector = connector_properties(file)
    if role is TARGET_PRODUCER:
        worker = cluster_properties(file, "B")
        return beginning(worker, "producer.") | beginning(connector, "producer.override.")
    end, client = ("source" if role.at_source else "target"), f"{role.client.value}."
    shared = {key: value for key, value in beginning(connector, f"{end}.cluster.").items() if key == SHARED}
    return shared | beginning(connector, client) | beginning(connector, f"{end}.{client}")


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
@given(present=st.sets(st.sampled_from(SPELLINGS)))
def test_the_list_of_spellings_agrees_with_the_merged_maps(role, present):
    file = {key: key for key in present}
    built = effective(file, role)
    for name, shared in ((SHARED, True), (OWN, False)):
        spellings = client_keys(role, LINK, name, shared=shared)
        assert next((key for key in spellings if key in file), None) == built.get(name)


@given(present=st.sets(st.sampled_from(SPELLINGS)))
def test_a_resolved_link_has_the_values_of_the_merged_maps(present):
    order = {key: number for number, key in enumerate(SPELLINGS, 1000)}
    values = {key: (f"h{order[key]}:9092" if key.endswith(SHARED) else str(order[key])) for key in present}
    values |= {"A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1"}
    lines = ["clusters=A,B", "A->B.enabled=true", *(f"{key}={value}" for key, value in values.items())]
    (link,) = resolve("\n".join(lines).encode(), "f", (), {}).links
    clients = [
        link.clients.source_consumer,
        link.clients.source_admin,
        link.clients.target_producer,
        link.clients.target_admin,
    ]
    for role, client in zip(ROLES, clients, strict=True):
        built = effective(values, role)
        assert client.bootstrap_servers == (built[SHARED],)
        assert client.request_timeout_ms == int(built.get(OWN, "30000"))


@given(st.sets(st.sampled_from(["A->B.new", "new", "A->B.old", "old", "B->A.new"])))
def test_a_link_setting_wins_over_the_top_and_a_new_name_over_an_old_one(present):
    merged = {key: key for key in ("new", "old") if key in present}
    merged |= {key: f"A->B.{key}" for key in ("new", "old") if f"A->B.{key}" in present}
    expected = merged.get("new", merged.get("old"))
    assert next((key for key in link_keys(LINK, "new", ("old",)) if key in present), None) == expected
