"""Transforms of a link in a settings file: what is read, what is refused, and whom they concern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.resolve import Resolved, resolve
from twinlog.errors import SettingsInvalid
from twinlog.model.selection import Patterns
from twinlog.model.transforms import FieldMask, Transforms
from twinlog.service.link_transforms import check_transforms
from twinlog.surface.answers.topology import transform_sentences

KAFKA = "org.apache.kafka.connect.transforms"
JSON = """
A->B.value.converter = org.apache.kafka.connect.json.JsonConverter
A->B.value.converter.schemas.enable = false
"""
MASK = f"""
A->B.transforms = mask
A->B.transforms.mask.type = {KAFKA}.MaskField$Value
A->B.transforms.mask.fields = email
"""


def resolved(more: str) -> Resolved:
    text = f"clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n{more}"
    return resolve(text.encode(), "f", (), {})


def transforms(more: str) -> Transforms:
    (link,) = resolved(more).links
    return link.transforms


def wrong(more: str) -> list[str]:
    found = resolved(more)
    lines = {key: entry.line for key, entry in found.draft.lookup.entries.items()}
    with pytest.raises(SettingsInvalid) as refused:
        check_transforms(found.links, "f", lines)
    return [f"{one.key}@{one.line}: {one.sentence}" for one in refused.value.findings]


def test_a_link_without_transforms_has_none() -> None:
    assert not transforms("")
    assert transforms("") == Transforms()
    assert not transforms(JSON)
    assert transforms("").digest("orders") == ""


def test_connects_keys_are_read_and_in_order() -> None:
    found = transforms(MASK + JSON)
    check_transforms(resolved(MASK + JSON).links, "f")
    assert found.steps == ("mask",)
    assert found.keys["transforms.mask.fields"] == "email"
    assert found.takes("orders")
    assert not found.takes("heartbeats")
    assert not found.takes("A.heartbeats")
    assert not found.takes("twinlog-drill-1")
    assert found.changes("orders") == {"value"}
    assert not found.tolerant
    assert transforms(MASK + JSON + "A->B.errors.tolerance = all\n").tolerant


def test_keys_at_the_top_hold_for_all_links_and_the_links_own_wins() -> None:
    found = transforms((MASK + JSON).replace("A->B.", "") + "A->B.transforms.mask.fields = phone\n")
    assert found.keys["transforms.mask.fields"] == "phone"


def test_only_chosen_topics_are_transformed() -> None:
    found = transforms(MASK + JSON + "A->B.transformed.topics = people.*\n")
    assert found.takes("people-eu")
    assert not found.takes("orders")
    assert found.digest("people-eu") != ""
    assert found.digest("orders") == ""


ROUTER = f"""
A->B.transforms = r
A->B.transforms.r.type = {KAFKA}.RegexRouter
A->B.transforms.r.regex = a
A->B.transforms.r.replacement = b
"""
SQL = "A->B.transforms = s\nA->B.transforms.s.type = Sql\nA->B.transforms.s.where = true\n"
AVRO = "A->B.value.converter = io.confluent.connect.avro.AvroConverter\n"
URL = "A->B.value.converter.schema.registry.url = http://x\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (MASK, "A->B.value.converter@None: transforms.mask looks into the value, so it must be"),
        (MASK + JSON.replace("false", "true"), "A->B.value.converter.schemas.enable@11: links read JSON without"),
        (MASK.replace("MaskField", "MaksField") + JSON, "A->B.transforms.mask.type@7: "),
        (MASK.replace("mask.fields", "mask.feilds") + JSON, "did you mean fields?"),
        (MASK.replace("mask.fields", "mask.feilds") + JSON, "A->B.transforms.mask.fields@None: missing"),
        (MASK + JSON + "A->B.transforms.mask.predicate = p\n", "p: no such predicate in `predicates`"),
        (ROUTER, f"A->B.transforms.r.type@7: {KAFKA}.RegexRouter cannot run on a link: topics keep the names"),
        (SQL, "cannot run on a link"),
        (f"A->B.transforms = f\nA->B.transforms.f.type = {KAFKA}.Filter\n", "Filter would drop every record"),
        (MASK.replace("MaskField", "MaksField") + JSON, f"did you mean {KAFKA}.MaskField$Value?"),
        (MASK + AVRO + URL, "cannot be used on a link; JSON without schemas"),
    ],
)
def test_what_cannot_run_is_told_with_key_and_line(more: str, told: str) -> None:
    assert any(told in one for one in wrong(more)), wrong(more)


def test_a_key_of_a_step_that_is_not_listed_is_told() -> None:
    found = resolved(MASK + JSON + "A->B.transforms.other.type = x\n")
    assert ("A->B.transforms.other.type", "ignored: `transforms` does not list other") in {
        (one.key, one.sentence) for one in found.findings
    }


def test_errors_tolerance_without_transforms_has_no_effect() -> None:
    assert any("no effect: the link has no transforms" in one.sentence
               for one in resolved("A->B.errors.tolerance = all\n").findings)  # fmt: skip


RULE = """
residency = eu
residency.eu.topics = customers
residency.eu.clusters = A
residency.eu.masked = email, phone
"""


def test_a_residency_rule_with_masked_fields_lets_the_topic_out_and_masks_it() -> None:
    found = resolved(RULE)
    (link,) = found.links
    assert link.transforms.names == ("residency eu",)
    assert [mask.fields for mask in link.transforms.masks_of("customers")] == [("email", "phone")]
    assert link.transforms.takes("customers")
    assert not link.transforms.takes("orders")
    assert link.topics.matches("customers")
    assert any("A->B masks email, phone in values of customers" in one.sentence for one in found.findings)
    check_transforms(found.links, "f")
    assert list(transform_sentences(found.links)) == ["A->B: residency eu masks email, phone"]


def test_a_mask_that_cannot_be_applied_is_refused() -> None:
    (told,) = wrong(RULE + "A->B.value.converter = org.apache.kafka.connect.converters.ByteArrayConverter\n")
    assert "residency rule eu masks fields of values, so it must be" in told


def test_a_mask_without_fields_is_an_error() -> None:
    with pytest.raises(SettingsInvalid, match="names no field"):
        resolved(RULE.replace("email, phone", ""))


_MASKS = st.lists(
    st.builds(
        FieldMask,
        st.sampled_from("ab"),
        st.sampled_from([Patterns((".*",)), Patterns(("orders",))]),
        st.sampled_from([("x",), ("y",)]),
    ),
    max_size=2,
).map(tuple)
_ANY = st.builds(
    Transforms,
    st.sampled_from([(), (("transforms", "m"), ("transforms.m.type", "T")), (("transforms", "m"),)]),
    st.sampled_from([Patterns((".*",)), Patterns(("orders",))]),
    st.booleans(),
    _MASKS,
)


@given(_ANY, _ANY, st.sampled_from(["orders", "people"]))
def test_a_digest_tells_transforms_of_a_topic_apart(one: Transforms, other: Transforms, topic: str) -> None:
    """Equal for equal steps, whatever other topics have; empty exactly where nothing happens."""

    def seen(some: Transforms) -> object:
        if not some.takes(topic):
            return None
        steps = some.config if some.steps and some.topics.matches(topic) else ()
        return steps, [(mask.rule, mask.fields) for mask in some.masks_of(topic)], some.tolerant

    assert (one.digest(topic) == "") == (not one.takes(topic))
    assert (one.digest(topic) == other.digest(topic)) == (seen(one) == seen(other))
