"""Converters: what the bytes of keys and values mean. One file per format."""
