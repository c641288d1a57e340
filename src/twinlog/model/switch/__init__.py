"""The switch as data: its log, its plan, fences, redirects, torn transactions."""
