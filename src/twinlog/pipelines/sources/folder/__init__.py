"""Folders of files as a source."""
