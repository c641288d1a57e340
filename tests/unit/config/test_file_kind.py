"""Files of other kinds are recognised, and files of ours never are taken for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.foreign.replicator import parse_settings
from twinlog.config.resolve import load_file
from twinlog.config.text.file_kind import foreign_kind
from twinlog.errors import SettingsInvalid

ROOT = Path(__file__).parents[3]
STRIMZI = b"apiVersion: kafka.strimzi.io/v1\nkind: KafkaMirrorMaker2\nmetadata:\n  name: x\nspec:\n  clusters: []\n"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (STRIMZI, "`twinlog import strimzi F` makes a settings file of it"),
        (b'{"apiVersion": "v1", "kind": "KafkaMirrorMaker2"}', "`twinlog import strimzi F`"),
        (b"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n", "a Kubernetes resource (ConfigMap)"),
        (b"---\nclusters:\n  - name: east\n", "this is YAML"),
        (b"clusters:\n  - alias: east\n    servers: k:9092\n", "this is YAML"),
        (b'{"name": "d", "connectorName": "m", "source": {}}', "`twinlog import brooklin F`"),
        (b'{"clusters": ["east"], "x": 1}', "no connector.class"),
        (b'{"a": 1}', "no connector.class"),
        (b"[1, 2]", "a JSON list"),
        (b"PK\x03\x04rest", "a ZIP or JAR archive"),
        (b"\x1f\x8b\x08", "a gzip archive"),
        (b"-----BEGIN CERTIFICATE-----\nMII=\n", "a certificate or a key"),
        (bytes(range(256)) * 4, "binary data"),
        ("clusters = a, b".encode("utf-16"), "UTF-16"),
    ],
)
def test_other_kinds_are_named(data: bytes, told: str):
    assert told in (foreign_kind(data, "F") or "")


@pytest.mark.parametrize("file", sorted((ROOT / "examples").rglob("*.properties")), ids=lambda file: file.stem)
def test_our_examples_are_ours(file: Path):
    assert foreign_kind(file.read_bytes(), "F") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"clusters: east, west\neast.bootstrap.servers: k:9092\n",
        b"# kind: of\nclusters = a, b\n",
        b"kind: of\nclusters = a, b\n",
        b'{"name": "r", "config": {"connector.class": "X", "nested": {"a": 1}}}',
        b'{"clusters": "east, west"}',
        b"{ not json",
    ],
)
def test_what_may_be_ours_is_left_to_its_reader(data: bytes):
    assert foreign_kind(data, "F") is None


_KEYS = st.from_regex(r"[a-z][a-z.>-]{0,20}[a-z]", fullmatch=True).filter(lambda key: key not in {"kind", "apiversion"})
_VALUES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), max_size=30)


@given(st.dictionaries(_KEYS, _VALUES, max_size=10))
def test_properties_with_clusters_are_never_taken_for_another_kind(entries: dict[str, str]):
    text = "clusters = a, b\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
    assert foreign_kind(text.encode(), "F") is None


@given(st.binary(max_size=2000))
def test_any_bytes_get_an_answer(data: bytes):
    told = foreign_kind(data, "F")
    if told is None:
        parse_settings(data, "F") if not data.lstrip().startswith(b"{") else None
    else:
        assert told.startswith("this is ")


def test_a_file_of_another_kind_gets_one_error_and_no_other_remark(tmp_path: Path):
    file = tmp_path / "mm2.yaml"
    file.write_bytes(STRIMZI)
    with pytest.raises(SettingsInvalid) as caught:
        load_file(file)
    (finding,) = caught.value.findings
    assert f"`twinlog import strimzi {file}`" in str(finding)
