"""Records as HTTP requests."""
