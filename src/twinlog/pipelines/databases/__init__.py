"""Databases: what JDBC sources and sinks share."""
