"""Answers about both ends of a link, by the rules of the sync jobs. Nothing here changes a cluster."""
