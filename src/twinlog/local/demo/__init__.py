"""The demo's story and its measuring instruments: load that checks itself, an engine to kill, a judge of both logs."""
