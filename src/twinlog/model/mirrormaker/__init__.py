"""MirrorMaker 2 as data: its records, its offsets, and taking over from it."""
