"""Batches and brokers, low level. The only room that imports aiokafka."""
