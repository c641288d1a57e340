"""Kafka's transforms and predicates as expressions. One file per transform; each works on structs and on documents."""
