"""Metrics for Prometheus and OpenTelemetry, under our names and MirrorMaker 2's."""
