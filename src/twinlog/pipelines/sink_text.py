"""The JSON text of a value, for sinks of documents. Expressions, on the driver."""

from __future__ import annotations

from pyspark.sql import Column

from twinlog.pipelines.converters.json_documents import json_text
from twinlog.pipelines.records import Shape
from twinlog.pipelines.text_form import text_form


def document(column: Column, shape: Shape) -> Column:
    """The JSON text of a value; decimals are numbers."""
    if shape.schema is not None:
        return json_text(column, shape.schema, "NUMERIC")
    return text_form(column, shape)
