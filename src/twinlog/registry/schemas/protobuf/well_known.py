"""Files that every Protobuf schema may use without a reference. Of each, the types and their fields."""

from functools import cache

from twinlog.registry.schemas.protobuf.model import ProtoFile
from twinlog.registry.schemas.protobuf.read import read_proto

_PROTOBUF = {
    "any": "message Any { string type_url = 1; bytes value = 2; }",
    "api": "message Api {} message Method {} message Mixin { string name = 1; string root = 2; }",
    "descriptor": (
        "message FileDescriptorSet {} message FileDescriptorProto {} "
        "message DescriptorProto { message ExtensionRange {} message ReservedRange {} } "
        "message ExtensionRangeOptions { message Declaration {} enum VerificationState {} } "
        "message FieldDescriptorProto { enum Type {} enum Label {} } message OneofDescriptorProto {} "
        "message EnumDescriptorProto { message EnumReservedRange {} } message EnumValueDescriptorProto {} "
        "message ServiceDescriptorProto {} message MethodDescriptorProto {} "
        "message FileOptions { enum OptimizeMode {} } "
        "message MessageOptions {} message FieldOptions { enum CType {} enum JSType {} enum OptionRetention {} "
        "enum OptionTargetType {} message EditionDefault {} message FeatureSupport {} } message OneofOptions {} "
        "message EnumOptions {} message EnumValueOptions {} message ServiceOptions {} "
        "message MethodOptions { enum IdempotencyLevel {} } message UninterpretedOption { message NamePart {} } "
        "message FeatureSet { enum FieldPresence {} enum EnumType {} enum RepeatedFieldEncoding {} "
        "enum Utf8Validation {} enum MessageEncoding {} enum JsonFormat {} } "
        "message FeatureSetDefaults { message FeatureSetEditionDefault {} } "
        "message SourceCodeInfo { message Location {} } "
        "message GeneratedCodeInfo { message Annotation { enum Semantic {} } } enum Edition {}"
    ),
    "duration": "message Duration { int64 seconds = 1; int32 nanos = 2; }",
    "empty": "message Empty {}",
    "field_mask": "message FieldMask { repeated string paths = 1; }",
    "source_context": "message SourceContext { string file_name = 1; }",
    "struct": (
        "message Struct { map<string, Value> fields = 1; } message ListValue { repeated Value values = 1; } "
        "enum NullValue { NULL_VALUE = 0; } message Value { oneof kind { NullValue null_value = 1; "
        "double number_value = 2; string string_value = 3; bool bool_value = 4; Struct struct_value = 5; "
        "ListValue list_value = 6; } }"
    ),
    "timestamp": "message Timestamp { int64 seconds = 1; int32 nanos = 2; }",
    "type": (
        "message Type {} message Field { enum Kind {} enum Cardinality {} } message Enum {} message EnumValue {} "
        "message Option { string name = 1; Any value = 2; } enum Syntax {}"
    ),
    "wrappers": (
        "message DoubleValue { double value = 1; } message FloatValue { float value = 1; } "
        "message Int64Value { int64 value = 1; } message UInt64Value { uint64 value = 1; } "
        "message Int32Value { int32 value = 1; } message UInt32Value { uint32 value = 1; } "
        "message BoolValue { bool value = 1; } message StringValue { string value = 1; } "
        "message BytesValue { bytes value = 1; }"
    ),
}
_TYPE = {
    "calendar_period": "enum CalendarPeriod { CALENDAR_PERIOD_UNSPECIFIED = 0; }",
    "color": (
        "message Color { float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }"
    ),
    "date": "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "datetime": (
        "message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; "
        "int32 seconds = 6; int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; "
        "TimeZone time_zone = 9; } } message TimeZone { string id = 1; string version = 2; }"
    ),
    "dayofweek": "enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; }",
    "decimal": "message Decimal { string value = 1; }",
    "expr": ("message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }"),
    "fraction": "message Fraction { int64 numerator = 1; int64 denominator = 2; }",
    "interval": (
        "message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }"
    ),
    "latlng": "message LatLng { double latitude = 1; double longitude = 2; }",
    "money": "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }",
    "month": "enum Month { MONTH_UNSPECIFIED = 0; }",
    "phone_number": (
        "message PhoneNumber { message ShortCode { string region_code = 1; string number = 2; } "
        "oneof kind { string e164_number = 1; ShortCode short_code = 2; } string extension = 3; }"
    ),
    "postal_address": (
        "message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3; "
        "string postal_code = 4; string sorting_code = 5; string administrative_area = 6; string locality = 7; "
        "string sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10; "
        "string organization = 11; }"
    ),
    "quaternion": "message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }",
    "timeofday": ("message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"),
}
_META = (
    "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; } "
    "extend google.protobuf.FileOptions { Meta file_meta = 1088; } "
    "extend google.protobuf.MessageOptions { Meta message_meta = 1088; } "
    "extend google.protobuf.FieldOptions { Meta field_meta = 1088; } "
    "extend google.protobuf.EnumOptions { Meta enum_meta = 1088; } "
    "extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }"
)
_DECIMAL = "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
_TEXTS = {
    **{f"google/protobuf/{name}.proto": ("google.protobuf", text) for name, text in _PROTOBUF.items()},
    **{f"google/type/{name}.proto": ("google.type", text) for name, text in _TYPE.items()},
    "confluent/meta.proto": ("confluent", _META),
    "confluent/type/decimal.proto": ("confluent.type", _DECIMAL),
}


@cache
def well_known_files() -> dict[str, ProtoFile]:
    """The files by their path."""
    return {
        path: read_proto(f'syntax = "proto3"; package {package}; {text}') for path, (package, text) in _TEXTS.items()
    }
