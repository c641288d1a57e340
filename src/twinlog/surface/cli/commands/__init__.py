"""One file per command of `twinlog`."""
