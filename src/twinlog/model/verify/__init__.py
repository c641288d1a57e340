"""Verification as data: what is compared, what differs, the report."""
