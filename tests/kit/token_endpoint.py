"""A token endpoint (OAuth 2.0, client credentials) for a secure local cluster, in a thread of the test."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs

from tests.kit.json_answers import JsonHandler

from twinlog.local.cluster import LocalCluster
from twinlog.local.security import HOST
from twinlog.local.tokens import sign_token


class TokenEndpoint(ThreadingHTTPServer):
    """Hands out tokens of `life_s` seconds to users of the cluster that know their password, while `open`."""

    daemon_threads = True

    def __init__(self, cluster: LocalCluster, life_s: float) -> None:
        super().__init__((HOST, 0), _Handler)
        self.cluster, self.life_s = cluster, life_s
        self.open = True
        self.handed_out = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/token"


class _Handler(JsonHandler):
    server: TokenEndpoint

    def do_POST(self) -> None:  # noqa: N802  its name in the standard library
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        kind, _, login = self.headers.get("Authorization", "").partition(" ")
        user, _, secret = base64.b64decode(login).decode().partition(":")
        cluster = self.server.cluster
        if not self.server.open:
            self.answer(503, {"error": "temporarily_unavailable"})
        elif kind != "Basic" or form.get("grant_type") != ["client_credentials"]:
            self.answer(400, {"error": "invalid_request"})
        elif user not in {"admin", "twinlog"} or secret != cluster.password(user):
            self.answer(401, {"error": "invalid_client", "error_description": "no such client"})
        else:
            self.server.handed_out += 1
            token = sign_token(cluster.files, user, self.server.life_s)
            self.answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": self.server.life_s})


@contextmanager
def token_endpoint(cluster: LocalCluster, life_s: float = 300.0) -> Iterator[TokenEndpoint]:
    """Run an endpoint."""
    endpoint = TokenEndpoint(cluster, life_s)
    thread = threading.Thread(target=endpoint.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.shutdown()
        thread.join(10)
        endpoint.server_close()
