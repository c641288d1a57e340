"""Elasticsearch or OpenSearch of one's own, made of jars of Maven Central. For demos and tests.

A home is a folder with the server's jars, one module for HTTP and two files of settings.
"""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from twinlog.local.jars import JarSet, resolve
from twinlog.local.server import Server, as_nobody, free_port
from twinlog.local.server_jars import (
    ELASTICSEARCH,
    ELASTICSEARCH_HTTP,
    ELASTICSEARCH_VERSION,
    OPENSEARCH,
    OPENSEARCH_HTTP,
    OPENSEARCH_VERSION,
)
from twinlog.machine.java import find_java

_POLICY: Final = """grant {
  permission java.io.FilePermission "/proc/sys/net/core/somaxconn", "read";
  permission java.net.SocketPermission "*", "accept,connect,resolve";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
};
"""
_LOGGING: Final = """appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class Product:
    """What differs between the two."""

    name: str
    version: str
    jars: JarSet
    http: JarSet
    main: str
    plugin: str
    prefix: str  # of system properties


PRODUCTS: Final = {
    "elasticsearch": Product(
        "elasticsearch", ELASTICSEARCH_VERSION, ELASTICSEARCH, ELASTICSEARCH_HTTP,
        "org.elasticsearch.bootstrap.Elasticsearch", "org.elasticsearch.transport.Netty4Plugin", "es",
    ),
    "opensearch": Product(
        "opensearch", OPENSEARCH_VERSION, OPENSEARCH, OPENSEARCH_HTTP,
        "org.opensearch.bootstrap.OpenSearch", "org.opensearch.transport.Netty4Plugin", "opensearch",
    ),
}  # fmt: skip


class SearchEngine:
    """One node in a folder."""

    def __init__(self, product: str, folder: Path) -> None:
        self.product = PRODUCTS[product]
        self.folder = folder
        self.port, self._transport = free_port(), free_port()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, with the documents it has. Raises ServerNotReady, JarsUnavailable."""
        if not self.folder.exists():
            self._make()
        prefix, home = self.product.prefix, self.folder
        command = [
            *as_nobody(home), str(find_java().java), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-Djava.security.manager=allow", "-Dlog4j2.disable.jmx=true", "-Dlog4j.shutdownHookEnabled=false",
            f"-Djava.io.tmpdir={home / 'data'}", f"-D{prefix}.path.home={home}",
            f"-D{prefix}.path.conf={home / 'config'}", f"-D{prefix}.distribution.flavor=oss",
            f"-D{prefix}.distribution.type=tar", "-cp", str(home / "lib" / "*"), self.product.main,
        ]  # fmt: skip
        environment = {"LIBFFI_TMPDIR": str(home / "data")}
        self._server = Server(self.product.name, command, home.parent / f"{home.name}.log", self._answers, environment)
        self._server.start()

    def _make(self) -> None:
        product, home = self.product, self.folder
        module = home / "modules" / "transport-netty4"
        for folder in (home / "lib", home / "config", home / "plugins", home / "data", home / "logs", module):
            folder.mkdir(parents=True, exist_ok=True)
        core = resolve(product.jars)
        for jar in core:
            shutil.copy(jar, home / "lib")
        known = {jar.name for jar in core}
        for jar in resolve(product.http):
            if jar.name.startswith(("netty-", "transport-netty4")) and jar.name not in known:
                shutil.copy(jar, module)
        facts = {
            "description": "HTTP", "version": product.version, "name": "transport-netty4",
            "classname": product.plugin, "java.version": "1.8", f"{product.name}.version": product.version,
            "has.native.controller": "false", "extended.plugins": "",
            **({"type": "isolated"} if product.name == "elasticsearch" else {}),  # OpenSearch does not know it
        }  # fmt: skip
        text = "".join(f"{key}={value}\n" for key, value in facts.items())
        (module / "plugin-descriptor.properties").write_text(text)
        (module / "plugin-security.policy").write_text(_POLICY)
        settings = {
            "discovery.type": "single-node", "network.host": "127.0.0.1", "http.port": self.port,
            "transport.port": self._transport, "cluster.routing.allocation.disk.threshold_enabled": "false",
        }  # fmt: skip
        lines = "".join(f"{key}: {value}\n" for key, value in settings.items())
        (home / "config" / f"{product.name}.yml").write_text(lines)
        (home / "config" / "log4j2.properties").write_text(_LOGGING)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("GET", "/_cluster/health?wait_for_status=yellow&timeout=1s").get("status"))
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The parsed answer, also of a refusal."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310  an address of our own
            self.url + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return json.loads(error.read() or b"{}")

    def documents(self, index: str) -> dict[str, Any]:
        """All documents of an index by id; at most 10 000."""
        self.ask("POST", f"/{index}/_refresh")
        answer = self.ask("GET", f"/{index}/_search?size=10000&version=true")
        return {hit["_id"]: hit["_source"] for hit in answer.get("hits", {}).get("hits", ())}

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()
