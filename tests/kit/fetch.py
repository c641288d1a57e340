"""Fetch what `make test` needs beside the Python packages, before the first test: servers as jars, and a browser.

A test that fetches a server itself waits for the network, and for every other test that fetches, within its own time
limit. `python -m tests.kit.fetch` is run once instead. What is there already costs nothing.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from tests.conftest import OLDER_KAFKA
from tests.kit.chromium import HOW, get_chromium

from twinlog.errors import JarsUnavailable
from twinlog.local.jars import CONNECT_MIRROR, KAFKA, JarSet, kafka_jars, resolve
from twinlog.local.server_jars import ELASTICSEARCH, ELASTICSEARCH_HTTP, MARIADB

_SETS: Final = (KAFKA, CONNECT_MIRROR, kafka_jars(OLDER_KAFKA), MARIADB, ELASTICSEARCH, ELASTICSEARCH_HTTP)


def fetch(jars: JarSet) -> None:
    """Fetch one set of jars; says how long it took where it was not there yet."""
    began = time.monotonic()
    resolve(jars)
    took_s = time.monotonic() - began
    if took_s > 1:
        print(f"fetched {jars.name}: {took_s:.0f} s", flush=True)


def main() -> int:
    """Fetch everything; ends with 1 when jars cannot be had. Without a browser the tests of the page are skipped."""
    try:
        for jars in _SETS:
            fetch(jars)
    except JarsUnavailable as error:
        print(error, file=sys.stderr)
        return 1
    if get_chromium() is None:
        print(HOW, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
