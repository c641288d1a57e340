"""Explaining settings: `twinlog explain`, the reference page, sample files, remarks about keys."""
