"""Redirect hooks: one file per kind. Each tells the world where clients go now, and reads back that it heard."""
