"""Sinks: one file per system that pipelines write."""
