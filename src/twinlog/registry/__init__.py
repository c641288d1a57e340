"""The schema registry: rules for schemas, the `_schemas` topic, the leader, two datacenters. It never imports Spark."""
