"""The checks, one file per theme. Each is pure over facts."""
