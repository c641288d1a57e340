"""The data path on Spark, in travel order: plan, read, shape, write, ledger; query.py drives it."""
