"""A Protobuf schema's messages as classes, with the errors of pipelines. Runs on the driver and in Python workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twinlog.pipelines.records import PlanRefused
from twinlog.registry import protobuf_messages
from twinlog.registry.protobuf_messages import class_of
from twinlog.registry.schemas.schema import InvalidSchema

__all__ = ["class_of", "file_of", "message_at"]


def file_of(text: str, references: tuple[tuple[str, str], ...]) -> Any:
    """The file's descriptor. Raises PlanRefused."""
    try:
        return protobuf_messages.file_of(text, references)
    except InvalidSchema as error:
        raise PlanRefused(f"the Protobuf schema cannot be read: {error}") from error


def message_at(file: Any, indexes: Sequence[int]) -> Any:
    """The descriptor of a message by its place. Raises PlanRefused."""
    try:
        return protobuf_messages.message_at(file, indexes)
    except InvalidSchema as error:
        raise PlanRefused(str(error)) from error
