"""Redirect hooks, one file per kind. Each publishes where clients must connect, and reads that back."""
