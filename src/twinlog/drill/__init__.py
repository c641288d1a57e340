"""Rehearsals of a disaster that touch nothing of production, each with a report as evidence."""
