"""Disaster recovery: the switch between the two sides of a link."""
