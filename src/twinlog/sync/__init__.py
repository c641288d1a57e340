"""The control plane: one file per thing kept in sync between the two ends."""
