"""Spark sessions by kind of work. No other room builds one.

work.py       the settings of each kind: batches of the mirror, tables
session.py    starts the one JVM of this process, and sessions inside it
place.py      where Spark runs: this machine, or the user's cluster
formats.py    data sources that carry secrets
daemon.py     Spark's daemon for Python workers, with the data path loaded before it forks
"""
