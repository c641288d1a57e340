"""Keys of the HTTP sink: those of Confluent's and Aiven's."""

from __future__ import annotations

from twinlog.config.security.places import leads_to_path, leads_to_url
from twinlog.config.security.secrets import Secret
from twinlog.pipelines.settings import Setting, setting


@setting
class HttpSettings:
    """Keys of io.confluent.connect.http.HttpSinkConnector."""

    url: str = Setting(
        "http.api.url", "where requests go; ${topic} and ${key} are filled in", also=("http.url",), leads=leads_to_url
    )
    method: str = Setting("request.method", "of requests", "POST", choices=("POST", "PUT", "PATCH"))
    headers: str = Setting("headers", "name:value pairs, with header.separator between them", "")
    header_separator: str = Setting("header.separator", "between two headers", "|")
    kind: str = Setting("content.type", "of bodies", "application/json")
    auth: str = Setting("auth.type", "how to log in", "NONE", choices=("NONE", "BASIC", "BEARER"))
    user: str = Setting("connection.user", "user of BASIC", "")
    password: Secret = Setting("connection.password", "password of BASIC, token of BEARER", Secret(""))
    batch: int = Setting("batch.max.size", "records in one request", 1, at_least=1)
    prefix: str = Setting("batch.prefix", "before the records of a request", "")
    suffix: str = Setting("batch.suffix", "behind the records of a request", "")
    separator: str = Setting("batch.separator", "between two records", ",")
    retried: str = Setting("retry.on.status.codes", "answers after which to wait and try again", "408,429,500-")
    backoff_ms: int = Setting("retry.backoff.ms", "first pause before the next try", 1000, at_least=0)
    timeout_ms: int = Setting("http.read.timeout.ms", "longest wait for an answer", 30_000, at_least=1)
    nulls: str = Setting("behavior.on.null.values", "what a record without a value does", "ignore",
                         choices=("ignore", "fail", "delete"))  # fmt: skip
    ca_file: str = Setting(
        "https.ca.location", "PEM file with the authorities of https addresses", "", leads=leads_to_path
    )
