"""Faces: they parse, call and render; they decide nothing."""
