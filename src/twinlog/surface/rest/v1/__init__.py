"""Twinlog's own API: links, their partitions and groups, what happened, and the long actions."""
