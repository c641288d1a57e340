"""How property tests run here: no deadline (a busy machine is no bug), few enough examples to stay quick."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unit", deadline=None, max_examples=30)
settings.load_profile("unit")
