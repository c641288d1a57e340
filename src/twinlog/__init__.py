"""Twinlog mirrors Apache Kafka clusters across datacenters and runs the disaster-recovery switch."""
