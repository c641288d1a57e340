"""Real Kafka brokers as local processes, for the demo and the tests."""
