"""The ledger as data: its records, the offset map, the roster, what may be removed."""
