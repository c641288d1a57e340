"""Secrets and logins in settings: key stores, JAAS, users, roles, masking."""
