"""Test helpers: clusters, links, loads with checkers, fakes that follow the real rules, waiting."""
