"""Real Kafka brokers as local processes, for the demo and the tests; and the Java that Spark runs on."""
