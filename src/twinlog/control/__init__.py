"""Connectors at run time: those made over HTTP, which service runs them, who changed what."""
