"""A machine with secrets, a service that declares config providers for them, and a config of every kind."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from tests.kit.connect_paper import PaperService, PaperTopic
from tests.kit.connector_configs import SECRET, mirror
from tests.kit.paper_backend import PaperBackend

from twinlog.config.security.users import save_user, with_password
from twinlog.config.service_settings import HttpSettings
from twinlog.control.grounds import Grounds
from twinlog.control.kind import Kind
from twinlog.pipelines.worker_settings import read_worker
from twinlog.service.pipeline_queries import PipelineQueries
from twinlog.surface.http.app_state import AppState

STORE = "store.bootstrap.servers = s:9092\n"
FILES = "org.apache.kafka.common.config.provider.FileConfigProvider"
FOLDERS = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
VARIABLES = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
_SAMPLES: Final = {
    "connection.url": "jdbc:postgresql://db:5432/d", "http.api.url": "https://db/api", "database.hostname": "db",
    "file": "/data/x", "input.path": "/data/in", "finished.path": "/data/done", "error.path": "/data/bad",
    "store.url": "file:///data/store", "flush.size": "10", "database.server.id": "5", "mode": "bulk",
    "syslog.port": "1514",
}  # fmt: skip


def sample_config(kind: Kind) -> dict[str, str]:
    """A config of a kind in which nothing is wrong."""
    if kind.role != "pipeline":
        return {**mirror(), "connector.class": kind.class_name, "src.kafka.bootstrap.servers": "a:1",
                "dest.kafka.bootstrap.servers": "b:1"}  # fmt: skip
    names = {one.name: one.required for one in kind.definitions()}
    config = {name: _SAMPLES.get(name, "t") for name, required in names.items() if required}
    config |= {name: _SAMPLES[name] for name in ("finished.path", "error.path", "store.url") if name in names}
    if "Folder" in kind.class_name:
        config |= {"format": "csv"}
    if "Elasticsearch" in kind.class_name:
        config["connection.url"] = "http://db:9200"
    if "Iceberg" in kind.class_name:
        config |= {
            "iceberg.tables": "shop.orders",
            "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": "sqlite:////data/c.db",
        }
    if "Delta" in kind.class_name:
        config["delta.table.url"] = "file:///data/lake"
    if kind.type == "sink":
        config["topics"] = "t"
    return {**config, "connector.class": kind.class_name}


class Host:
    """A machine with a secret in a file, in a folder and in its environment, and a service that runs on it.

    With `pages` the service has its pages and /v1, too.
    """

    def __init__(self, folder: Path, *, declared: bool, pages: bool = False) -> None:
        self.folder = folder
        (folder / "vault.properties").write_text(f"password = {SECRET}\n")
        (folder / "whole").write_text(f"{SECRET}\nsecond line of {SECRET}\n")
        for name, role in (("vera", "viewer"), ("otto", "operator"), ("anna", "admin")):
            save_user(folder / "users", with_password(name, role, f"{name}-password"))
        text = f"{STORE}connector.allowed.paths = {folder}, /data\n"
        if declared:
            text += (
                "config.providers = file, dir, env\n"
                f"config.providers.file.class = {FILES}\nconfig.providers.file.param.allowed.paths = {folder}\n"
                f"config.providers.dir.class = {FOLDERS}\nconfig.providers.dir.param.allowed.paths = {folder}\n"
                f"config.providers.env.class = {VARIABLES}\nconfig.providers.env.param.allowlist.pattern = SEC.*\n"
            )
        backend = PaperBackend()
        self.service = PaperService(
            PaperTopic(),
            text=text,
            http=HttpSettings(users_file=folder / "users"),
            environment={"SECRET": SECRET, "HOME": "/home/tea"},
            worker=read_worker({"bootstrap.servers": "127.0.0.1:1"}),
            app_state=(lambda audit: AppState.of(backend, audit)) if pages else None,
        )
        queries = PipelineQueries(cast("Any", SimpleNamespace(jobs=[])), self.service.control)
        backend.pipelines = cast("Any", queries)

    @property
    def grounds(self) -> Grounds:
        """What its connectors are read by."""
        assert self.service.file is not None
        self.service.control.planning.file = self.service.file
        return self.service.control.planning.grounds

    @property
    def references(self) -> list[str]:
        """One to each place of the secret."""
        return [f"${{file:{self.folder}/vault.properties:password}}", f"${{dir:{self.folder}:whole}}", "${env:SECRET}"]
