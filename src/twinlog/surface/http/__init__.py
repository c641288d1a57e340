"""The HTTP server: listeners, logins, limits, the response cache, and the state that handlers share."""
