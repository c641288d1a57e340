"""Records as Arrow columns: documents are opened, changed and printed by Arrow's kernels. Runs in Python workers."""
