"""Elasticsearch and OpenSearch sink: documents by bulk requests."""
