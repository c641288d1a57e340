"""A Protobuf schema's messages as classes of Google's library. Runs on the driver and in Python workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from twinlog.registry.schemas.protobuf.descriptor import descriptor_bytes
from twinlog.registry.schemas.protobuf.model import ProtoFile
from twinlog.registry.schemas.protobuf.schema import parse_protobuf
from twinlog.registry.schemas.protobuf.well_known import well_known_files
from twinlog.registry.schemas.schema import InvalidSchema

_GOOGLE = {
    module.DESCRIPTOR.name: module
    for module in (any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2,
                wrappers_pb2)
}  # fmt: skip
_ROOT = "twinlog-schema.proto"


@lru_cache(maxsize=1000)
def file_of(text: str, references: tuple[tuple[str, str], ...]) -> Any:
    """The file's descriptor. Raises InvalidSchema, and TypeError for what Google's library refuses."""
    schema = parse_protobuf(text, dict(references))
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(path: str, file: ProtoFile) -> None:
        if path in added:
            return
        added.add(path)
        for other in (*file.imports, *file.public_imports):
            if other in schema.dependencies:
                add(other, schema.dependencies[other])
            elif other in _GOOGLE:
                if other not in added:
                    pool.AddSerializedFile(_GOOGLE[other].DESCRIPTOR.serialized_pb)
                    added.add(other)
            elif other in well_known_files():
                add(other, well_known_files()[other])
            else:
                raise InvalidSchema(f"the Protobuf schema imports {other}, which is none of its references")
        proto = descriptor_pb2.FileDescriptorProto()
        proto.ParseFromString(descriptor_bytes(file, schema.names, schema.dependencies))
        proto.name = path
        pool.Add(proto)

    add(_ROOT, schema.file)
    return pool.FindFileByName(_ROOT)


def message_at(file: Any, indexes: Sequence[int]) -> Any:
    """The descriptor of a message by its place: 1, 0 is the first one inside of the second. Raises InvalidSchema."""
    inside = list(file.message_types_by_name.values())
    message = None
    for index in indexes:
        if not 0 <= index < len(inside):
            raise InvalidSchema(f"the Protobuf schema has no message at {list(indexes)}")
        message = inside[index]
        inside = list(message.nested_types)
    return message


def class_of(descriptor: Any) -> Any:
    """The class of a message."""
    return message_factory.GetMessageClass(descriptor)
