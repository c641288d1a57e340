"""Protobuf 2 and 3: texts, descriptors, checks and compatibility."""
