"""Data pipelines: Kafka Connect's sources and sinks as Spark jobs. Each room below says where its code runs."""
