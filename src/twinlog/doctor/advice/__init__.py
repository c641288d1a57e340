"""Advice from measurements: why a link is slow, what to set, what this machine could carry. Pure rules."""
