"""The ledger on the target: reading it, writing it."""
