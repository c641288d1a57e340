"""Where files are put: a folder, or a bucket of S3. Runs in Python workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow.fs

from twinlog.config.security.places import split_url
from twinlog.pipelines.api import Finding, Retriable, SettingsRefused
from twinlog.pipelines.sinks.object_store.settings import ObjectStoreSettings

_FOLDER: Final = "file"


class Store:
    """Whole files by their path. A file is there completely or not at all."""

    def __init__(self, s: ObjectStoreSettings) -> None:
        try:
            address = split_url(s.url)
        except ValueError as error:
            raise SettingsRefused([Finding("store.url", str(error))]) from None
        if ".." in (*s.topics_dir.split("/"), *s.folder_delimiter.split("/"), *s.path_format.split("/")):
            raise SettingsRefused([Finding("topics.dir", "a folder of the store has no .. in its name")])
        self._is_folder = address.scheme == _FOLDER
        self._fs: Any
        if self._is_folder:
            self._fs, self._root = pyarrow.fs.LocalFileSystem(), unquote(address.path).rstrip("/")
        else:
            if not s.bucket:
                raise SettingsRefused([Finding("s3.bucket.name", "missing; store.url=file:///folder needs none")])
            options: dict[str, Any] = {"region": s.region, "retry_strategy": pyarrow.fs.AwsStandardS3RetryStrategy(3)}
            if s.access_key:
                options |= {"access_key": s.access_key, "secret_key": s.secret_key.reveal()}
            if s.url:
                options |= {"endpoint_override": address.netloc, "scheme": address.scheme}
            self._fs, self._root = pyarrow.fs.S3FileSystem(**options), s.bucket
        self.where = s.url or f"s3://{s.bucket}"

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole, over an older one. Raises Retriable."""
        full = f"{self._root}/{path}"
        try:
            if self._is_folder:
                _replace(Path(full), data)
                return
            with self._fs.open_output_stream(full) as out:
                out.write(data)
        except OSError as error:
            raise Retriable(f"{self.where}: {path}: {error}") from error

    def get(self, path: str) -> bytes | None:
        """The bytes of a file; None when it is not there. Raises Retriable."""
        try:
            with self._fs.open_input_stream(f"{self._root}/{path}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Retriable(f"{self.where}: {path}: {error}") from error

    def remove(self, path: str) -> None:
        try:
            self._fs.delete_file(f"{self._root}/{path}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Retriable(f"{self.where}: {path}: {error}") from error

    def walk(self, folder: str) -> list[str]:
        """All files inside of a folder."""
        chosen = pyarrow.fs.FileSelector(f"{self._root}/{folder}", allow_not_found=True, recursive=True)
        try:
            return [info.path for info in self._fs.get_file_info(chosen) if info.is_file]
        except OSError as error:
            raise Retriable(f"{self.where}: {folder}: {error}") from error


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
