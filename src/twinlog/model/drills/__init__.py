"""Rules about drills: judging a shadow group, and reports as evidence."""
