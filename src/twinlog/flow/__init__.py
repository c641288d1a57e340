"""The data path on Spark, in travel order: plan, read, parcel, row, take over, shape, write, note."""
