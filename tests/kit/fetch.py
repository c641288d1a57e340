"""Fetch what tests need beside the Python packages, before the first test: servers as jars, and a browser.

A test that fetches a server itself waits for the network, and for every other test that fetches, within its own time
limit. `python -m tests.kit.fetch` is run once instead, for `make chaos` and `make compat` with `--more`. What is there
already costs nothing.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from tests.conftest import OLDER_KAFKA
from tests.kit.chromium import HOW, get_chromium
from tests.kit.debian import NotHere, server_command

from twinlog.errors import JarsUnavailable
from twinlog.local.jars import CONNECT_MIRROR, KAFKA, JarSet, kafka_jars, resolve
from twinlog.local.server_jars import (
    CONNECT_DEBEZIUM,
    CONNECT_FILE,
    ELASTICSEARCH,
    ELASTICSEARCH_HTTP,
    MARIADB,
    OPENSEARCH,
    OPENSEARCH_HTTP,
)

_SETS: Final = (KAFKA, CONNECT_MIRROR, kafka_jars(OLDER_KAFKA), MARIADB, ELASTICSEARCH, ELASTICSEARCH_HTTP)
_MORE: Final = (
    *(kafka_jars(version) for version in ("3.1.2", "3.0.2", "2.8.2")),
    *(OPENSEARCH, OPENSEARCH_HTTP, CONNECT_FILE, CONNECT_DEBEZIUM),
)
_SERVERS: Final = (("named", "bind9"), ("etcd", "etcd-server"))


def fetch(jars: JarSet) -> None:
    """Fetch one set of jars; says how long it took where it was not there yet."""
    began = time.monotonic()
    resolve(jars)
    took_s = time.monotonic() - began
    if took_s > 1:
        print(f"fetched {jars.name}: {took_s:.0f} s", flush=True)


def main(*, more: bool) -> int:
    """Fetch everything; ends with 1 when a server cannot be had. Without a browser tests of the page are skipped."""
    try:
        for jars in (*_SETS, *(_MORE if more else ())):
            fetch(jars)
        for program, package in _SERVERS if more else ():
            server_command(program, package)
    except (JarsUnavailable, NotHere) as error:
        print(error, file=sys.stderr)
        return 1
    if not more and get_chromium() is None:
        print(HOW, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(more="--more" in sys.argv[1:]))
