"""Sources: one file per system that pipelines read."""
