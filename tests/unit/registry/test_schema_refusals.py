"""The sentences with which a schema is refused."""

from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema


def test_a_text_that_cannot_be_read_names_its_kind() -> None:
    refused = InvalidSchema("why")
    assert refused.sentence("JSON", "{x}") == (
        "Invalid schema of type JSON, details: Invalid schema of type JSON, details: why"
    )
    assert refused.sentence("AVRO", "{x}", "[r]") == (
        "Invalid schema of type AVRO, details: Invalid schema {x} with refs [r] of type AVRO, details: why"
    )


def test_content_that_a_check_refuses_shows_the_schema() -> None:
    refused = InvalidSchema("why", rejected_by_check=True)
    assert refused.sentence("JSON", "{x}") == "Invalid schema {x}, details: why"


def test_a_record_has_its_fields_and_other_types_have_none() -> None:
    record = parse("AVRO", '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
    assert record.has_field("a")
    assert not record.has_field("R")
    assert not parse("AVRO", '"int"').has_field("a")
