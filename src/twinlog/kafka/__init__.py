"""Admin and ordinary clients of a cluster: the only room that imports confluent_kafka."""
