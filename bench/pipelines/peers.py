"""Connector plugins of others for a Kafka Connect worker, as Maven Central has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

from twinlog.local.jars import JarSet, Module, resolve
from twinlog.machine.folders import cache_folder

DEBEZIUM: Final = "3.6.0.Final"
_POSTGRES: Final = JarSet("debezium-postgres", (Module("io.debezium", "debezium-connector-postgres", DEBEZIUM),))
_JDBC: Final = f"io.debezium:debezium-connector-jdbc:{DEBEZIUM}:tar.gz:plugin"


def plugin_path() -> Path:
    """A folder with one folder per plugin: Debezium's source for PostgreSQL and its JDBC sink. Raises RuntimeError."""
    home = cache_folder() / f"connect-plugins-{DEBEZIUM}"
    postgres = home / "debezium-postgres"
    if not postgres.is_dir():
        jars = resolve(_POSTGRES)
        postgres.mkdir(parents=True)
        for jar in jars:
            os.link(jar, postgres / jar.name)
    if not (home / "debezium-connector-jdbc").is_dir():
        _unpack(home)
    return home


def _unpack(home: Path) -> None:
    """Its parts are not all published one by one, so Ivy cannot have it; Maven copies the archive."""
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("Debezium's JDBC sink comes as an archive: install Maven (mvn)")
    command = [maven, "-q", "dependency:copy", f"-Dartifact={_JDBC}", f"-DoutputDirectory={home}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
    archives = list(home.glob("debezium-connector-jdbc*.tar.gz"))
    if done.returncode != 0 or not archives:
        raise RuntimeError(f"Debezium's JDBC sink cannot be had: {done.stdout[-500:]}{done.stderr[-500:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(home, filter="data")
    archives[0].unlink()
