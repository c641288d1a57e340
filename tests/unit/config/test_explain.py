import json
from pathlib import Path

import pytest
from tests.kit.validated import run

from twinlog.config.telling.explain import Explanation, explain
from twinlog.config.text.catalogue import CATALOGUE, SUPPORTED
from twinlog.errors import SettingUnknown

FILE = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
topics = a.*
A->B.topics = b.*
A.consumer.fetch.max.bytes = 1000
A->B.consumer.fetch.max.bytes = 2000
groups.blacklist = old
groups.exclude = new
security.protocol = SASL_PLAINTEXT
A.sasl.mechanism = PLAIN
sasl.mechanism = SCRAM-SHA-256
sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="hush";
A.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hush";
A->B.producer.override.acks = 1
emit.heartbeats.interval.seconds = 2
on.gap = maybe
"""


def explained(tmp_path: Path, name: str) -> Explanation:
    path = tmp_path / "links.properties"
    path.write_text(FILE)
    return explain(path, (), name)


@pytest.mark.parametrize("name", ["topics", "A->B.topics"])
def test_the_line_that_decides_and_the_one_that_loses_are_told(tmp_path: Path, name: str):
    (it,) = explained(tmp_path, name).outcomes
    assert it.decided is not None
    assert (it.link, it.value, it.decided.key, it.decided.line) == ("A->B", "b.*", "A->B.topics", 6)
    ((lost),) = it.overridden
    assert (lost.key, lost.line, lost.value) == ("topics", 5, "a.*")
    assert "top of the file is weaker" in lost.why
    assert it.order == ("A->B.topics", "topics")


def test_a_link_key_that_loses_to_the_cluster_is_told_so(tmp_path: Path):
    it = explained(tmp_path, "A.consumer.fetch.max.bytes")
    assert (it.default, it.mirrormaker) == ("8388608", "the same name, default 52428800")
    (one,) = it.outcomes
    assert (one.clients, one.value) == (("source consumer",), "1000")
    assert "in MirrorMaker 2 too" in one.overridden[0].why


def test_an_old_name_loses_to_the_new_one(tmp_path: Path):
    it = explained(tmp_path, "groups.blacklist")
    assert it.name == "groups.exclude"
    assert it.outcomes[0].value == "new"
    assert "old name" in it.outcomes[0].overridden[0].why
    assert ["loses to groups.exclude" in str(one) for one in it.findings] == [True]


def test_clients_with_the_same_origin_are_told_together(tmp_path: Path):
    source, target = explained(tmp_path, "sasl.mechanism").outcomes
    assert source.clients == ("source consumer", "source admin", "source producer")
    assert target.clients == ("target consumer", "target producer", "target admin")
    assert (source.value, target.value) == ("PLAIN", "SCRAM-SHA-256")


@pytest.mark.proves("R12")
def test_secrets_stay_masked(tmp_path: Path):
    it = explained(tmp_path, "sasl.jaas.config")
    assert {one.value for one in it.outcomes} == {"***"}
    assert {lost.value for one in it.outcomes for lost in one.overridden} == {"***"}
    assert "hush" not in repr(it)


def test_a_pair_that_is_no_link_has_heartbeats_too(tmp_path: Path):
    it = explained(tmp_path, "emit.heartbeats.interval.seconds")
    assert [(one.link, one.value) for one in it.outcomes] == [("A->B", "2"), ("B->A", "2")]


def test_a_key_without_meaning_says_why(tmp_path: Path):
    it = explained(tmp_path, "A->B.producer.override.acks")
    assert it.support.startswith("no effect here: writing is always idempotent")
    assert (it.outcomes, [one.line for one in it.findings]) == ((), [16])


@pytest.mark.parametrize("key", CATALOGUE, ids=lambda key: f"{key.name} {key.scopes[0].name}")
def test_every_key_of_the_catalogue_can_be_explained(tmp_path: Path, key):
    it = explained(tmp_path, key.name)
    assert it.meaning
    # Not of this file: TLS, tokens, tickets, and families of which it has no member.
    absent = key.name.startswith(("ssl.", "sasl.")) or key.name.endswith("*")
    assert bool(it.outcomes) or key not in SUPPORTED or absent


def test_an_unknown_key_names_its_neighbours(tmp_path: Path):
    with pytest.raises(SettingUnknown, match="near it are: topics") as error:
        explained(tmp_path, "A->B.topicz")
    assert error.value.name == "A->B.topicz"


def test_the_command_explains_in_words_and_in_json(tmp_path: Path):
    path = tmp_path / "links.properties"
    path.write_text(FILE)
    code, told = run("-c", str(path), "--explain", "topics")
    assert code == 0
    assert "A->B = b.*  (line 6: A->B.topics)" in told
    assert "wins over line 5: topics = a.*" in told
    code, told = run("-c", str(path), "--explain", "on.gap", "-o", "json")
    assert code == 2
    answer = json.loads(told)
    assert (answer["outcomes"][0]["value"], answer["findings"][0]["line"]) == ("maybe", 18)
