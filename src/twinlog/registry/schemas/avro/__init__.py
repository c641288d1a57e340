"""Avro: a tolerant parser, Java's printer, normalization and the reader/writer rules."""
