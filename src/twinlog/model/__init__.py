"""Words and rules: pure, picklable, no I/O."""
