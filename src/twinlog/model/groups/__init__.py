"""Rules about consumer groups: positions, resets, consistent cuts."""
