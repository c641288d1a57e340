"""FileStreamSink: one line per record, exactly once."""
