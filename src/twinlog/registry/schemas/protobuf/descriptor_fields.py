"""Numbers of fields and options in Google's descriptor.proto, as far as the registry uses them."""

from twinlog.registry.schemas.protobuf.model import OptionKind

TYPES = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "fixed64": 6,
    "fixed32": 7,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
    "sfixed32": 15,
    "sfixed64": 16,
    "sint32": 17,
    "sint64": 18,
}
GROUP, MESSAGE, ENUM = 10, 11, 14
LABELS = {"optional": 1, "required": 2, "repeated": 3}
META = 1088
"""The extension of all options that holds Confluent's doc, params and tags."""

Names = dict[str, tuple[int, OptionKind, tuple[str, ...]]]
"""Number, kind and, of an enum, the names of its values."""


def _flags(**numbers: int) -> Names:
    return {name: (number, "BOOLEAN", ()) for name, number in numbers.items()}


def _texts(**numbers: int) -> Names:
    return {name: (number, "STRING", ()) for name, number in numbers.items()}


FILE_OPTIONS: Names = {
    **_texts(java_package=1, java_outer_classname=8),
    **_flags(java_multiple_files=10, java_generate_equals_and_hash=20, java_string_check_utf8=27),
    "optimize_for": (9, "ENUM", ("", "SPEED", "CODE_SIZE", "LITE_RUNTIME")),
    **_texts(go_package=11),
    **_flags(cc_generic_services=16, java_generic_services=17, py_generic_services=18),
    **_flags(deprecated=23, cc_enable_arenas=31),
    **_texts(objc_class_prefix=36, csharp_namespace=37, swift_prefix=39, php_class_prefix=40, php_namespace=41),
    **_texts(php_metadata_namespace=44, ruby_package=45),
}
MESSAGE_OPTIONS: Names = _flags(no_standard_descriptor_accessor=2, deprecated=3, map_entry=7)
FIELD_OPTIONS: Names = {
    "ctype": (1, "ENUM", ("STRING", "CORD", "STRING_PIECE")),
    **_flags(packed=2),
    "jstype": (6, "ENUM", ("JS_NORMAL", "JS_STRING", "JS_NUMBER")),
    **_flags(deprecated=3, debug_redact=16),
    "retention": (17, "ENUM", ("RETENTION_UNKNOWN", "RETENTION_RUNTIME", "RETENTION_SOURCE")),
}
ENUM_OPTIONS: Names = _flags(allow_alias=2, deprecated=3)
CONSTANT_OPTIONS: Names = _flags(deprecated=1, debug_redact=3)
SERVICE_OPTIONS: Names = _flags(deprecated=33)
RPC_OPTIONS: Names = {
    **_flags(deprecated=33),
    "idempotency_level": (34, "ENUM", ("IDEMPOTENCY_UNKNOWN", "NO_SIDE_EFFECTS", "IDEMPOTENT")),
}
