"""Proving that both logs are equal: both sides are read independently of the data path, on Spark or as a sync job."""
