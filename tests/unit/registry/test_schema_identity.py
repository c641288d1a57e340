"""The identity of a schema: an MD5 that a Confluent registry computes alike."""

from __future__ import annotations

from hashlib import md5 as plain_md5

from twinlog.registry.schemas.identity import guid, md5
from twinlog.registry.schemas.schema import Metadata, Reference, RuleSet, normalized_references


def hashed(data: bytes) -> bytes:
    return plain_md5(data, usedforsecurity=False).digest()


def test_a_guid_is_the_md5_in_groups() -> None:
    assert guid('"string"') == "095d71cf-1255-6b9d-5e33-0ad575b3df5d"


def test_references_count_with_name_subject_and_version() -> None:
    assert md5("t", [Reference("n", "s", 258)]) == hashed(b"tns\x00\x00\x01\x02")


def test_metadata_counts_sorted_and_empty_metadata_differs_from_none() -> None:
    metadata = Metadata(tags={"b": ["y", "x"], "a": []}, properties={"q": "1", "p": "2"}, sensitive=["s"])
    assert md5("t", metadata=metadata) == hashed(b"t\x01abxyp2q1s")
    assert md5("t", metadata=Metadata()) == hashed(b"t\x01") != md5("t")


def test_rules_count() -> None:
    rule = {"name": "n", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "params": {"k": "v"}, "disabled": True}
    assert md5("t", rule_set=RuleSet(domain_rules=[rule])) == hashed(b"t\x01nCONDITIONWRITECELkv\x01")


def test_normalized_references_are_sorted_and_unique() -> None:
    one, two = Reference("a", "s", 2), Reference("b", "s", 1)
    assert normalized_references([two, one, two]) == (one, two)
