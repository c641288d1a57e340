"""Load that checks itself, and the judge that reads both clusters and decides whether the promises were kept."""
