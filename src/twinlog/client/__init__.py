"""The client library: where a mirrored thing is on the other side. Needs no Spark."""
