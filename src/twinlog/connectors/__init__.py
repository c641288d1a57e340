"""LINKS AT RUN TIME: connectors that are made, changed and held over HTTP, who runs them, and who changed what."""
