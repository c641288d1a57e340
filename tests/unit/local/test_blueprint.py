from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from twinlog.errors import LocalClusterUnknown, PortsTaken, UsageError
from twinlog.local.blueprint import Blueprint, broker_properties, draw_blueprint, draw_id, free_ports
from twinlog.local.certificates import write_certificates
from twinlog.local.cluster import LocalCluster
from twinlog.local.links import links_properties
from twinlog.local.security import HOST, SecureFiles
from twinlog.local.storage import scram_argument


def _properties(blueprint: Blueprint, index: int = 0) -> dict[str, str]:
    return broker_properties(blueprint, blueprint.nodes[index], Path("data"), SecureFiles(Path("/cluster")))


@given(
    brokers=st.integers(1, 5),
    secure=st.booleans(),
    settings=st.dictionaries(st.text(), st.text()),
    options=st.lists(st.text()),
    ports=st.dictionaries(st.integers(1, 5), st.integers(1, 65535)),
)
def test_a_blueprint_survives_its_file(
    brokers: int, secure: bool, settings: dict[str, str], options: list[str], ports: dict[int, int]
) -> None:
    drawn = dataclasses.replace(
        draw_blueprint("east", brokers, secure=secure, kafka="3.9.2", features={"transaction.version": 1}),
        settings=settings,
        java_options=tuple(options),
        advertised_ports=ports,
    )
    assert Blueprint.from_json(drawn.to_json()) == drawn


@pytest.mark.parametrize(("brokers", "controllers"), [(1, 1), (2, 1), (3, 3), (5, 3)])
def test_any_one_of_three_nodes_may_be_lost(brokers: int, controllers: int) -> None:
    blueprint = draw_blueprint("east", brokers, secure=False)
    assert len(_properties(blueprint)["controller.quorum.voters"].split(",")) == controllers
    last = _properties(blueprint, brokers - 1)
    assert ("controller" in last["process.roles"]) == (brokers <= controllers)
    if brokers == 3:
        assert last["transaction.state.log.min.isr"] == "2"
        assert last["offsets.topic.replication.factor"] == "3"


def test_ports_are_different_and_below_those_of_outgoing_connections() -> None:
    blueprint = draw_blueprint("east", 3, secure=True)
    kinds = ("client_port", "internal_port", "controller_port", "tls_port")
    ports = [getattr(node, kind) for node in blueprint.nodes for kind in kinds]
    assert len(set(ports)) == 12
    assert all(port is not None and 1024 < port < 32768 for port in ports)


def test_a_taken_port_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr("twinlog.local.blueprint._PORTS", [port])
        with pytest.raises(PortsTaken, match="1 free ports are needed"):
            free_ports(1)


def test_settings_have_the_last_word_and_proxies_are_advertised_to_clients_only() -> None:
    blueprint = dataclasses.replace(
        draw_blueprint("east", 1, secure=False),
        settings={"auto.create.topics.enable": "true"},
        advertised_ports={1: 1234},
    )
    properties = _properties(blueprint)
    assert properties["auto.create.topics.enable"] == "true"
    assert f"CLIENT://{HOST}:1234" in properties["advertised.listeners"]
    assert f"INTERNAL://{HOST}:{blueprint.nodes[0].internal_port}" in properties["advertised.listeners"]
    assert f"CLIENT://{HOST}:{blueprint.nodes[0].client_port}" in properties["listeners"]
    assert blueprint.bootstrap_servers == f"{HOST}:1234"


def test_ids_are_never_mistaken_for_options() -> None:
    drawn = {draw_id() for _ in range(500)}
    assert len(drawn) == 500
    assert all(len(one) == 22 and not one.startswith("-") for one in drawn)


@pytest.mark.proves("R12")
def test_no_password_reaches_the_process_list_or_the_links_file(tmp_path: Path) -> None:
    cluster = LocalCluster("east", tmp_path / "east", secure=True)
    password = cluster.password("admin")
    assert password in cluster.client_properties()["sasl.jaas.config"]
    assert password not in scram_argument("admin", password)
    shown = links_properties([cluster])
    assert password not in shown
    assert f"${{file:{cluster.client_file()}:sasl.jaas.config}}" in shown
    assert (tmp_path / "east" / "users.json").stat().st_mode & 0o777 == 0o600


def test_links_go_from_each_cluster_to_the_next(tmp_path: Path) -> None:
    shown = links_properties([LocalCluster(name, tmp_path / name) for name in ("a", "b", "c")])
    assert [line for line in shown.splitlines() if "enabled" in line] == ["a->b.enabled = true", "b->c.enabled = true"]


def test_certificates_name_the_loopback_and_are_made_once(tmp_path: Path) -> None:
    files = SecureFiles(tmp_path)
    authority, broker = files.authority, files.broker
    write_certificates(files)
    made = broker.read_bytes()
    write_certificates(files)
    assert broker.read_bytes() == made
    assert b"BEGIN PRIVATE KEY" in made  # PKCS#8, the only form Kafka reads
    assert broker.stat().st_mode & 0o777 == 0o600
    leaf = x509.load_pem_x509_certificate(made[made.index(b"-----BEGIN CERTIFICATE") :])
    root = x509.load_pem_x509_certificate(authority.read_bytes())
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert HOST in map(str, names.get_values_for_type(x509.IPAddress))


def test_a_folder_without_a_cluster_and_one_with_another_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterUnknown):
        LocalCluster.load(tmp_path)
    (tmp_path / "cluster.json").write_text(draw_blueprint("east", 1, secure=False).to_json())
    assert LocalCluster.load(tmp_path).name == "east"
    with pytest.raises(UsageError, match="wipe"):
        LocalCluster("east", tmp_path, brokers=3)


def test_too_few_free_ports_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setattr("twinlog.local.blueprint._PORTS", range(port, port + 1))
    assert free_ports(1) == [port]
    with pytest.raises(PortsTaken, match=f"2 free ports are needed between {port} and {port}, and 1 were found"):
        free_ports(2)
