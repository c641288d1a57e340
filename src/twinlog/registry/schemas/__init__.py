"""Rules for schemas: canonical text, identity and compatibility of Avro, JSON Schema and Protobuf. Pure: no I/O.

The server calls four functions: `parse.parse`, `compatibility.incompatibilities`, `identity.guid` and `identity.md5`.
"""
