"""How long a trouble may last before it counts, where reader and writer must agree."""

from __future__ import annotations

from typing import Final

MISSING_FOR_S: Final = 3.0
"""Metadata may be behind: a topic is missing only when it stays missing."""
