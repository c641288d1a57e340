"""The control plane: one file per thing kept in step between the two ends."""
