"""The page: what links do and what can be done about it, for people with a browser. Rendered here, no build step."""
