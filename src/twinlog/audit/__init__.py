"""Proving that both logs are equal: both sides are read independently of the data path. On Spark, or as a chore."""
