"""Watching links from outside: one observation, and the monitor that repeats it."""
