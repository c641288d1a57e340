"""Files of other mirrors read as our settings: MirrorMaker 2 connectors and Confluent Replicator."""
