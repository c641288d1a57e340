"""Settings of plugins: every error at once, secrets never shown."""

from __future__ import annotations

import pytest

from twinlog.config.security.secrets import Secret
from twinlog.pipelines.settings import Setting, SettingsRefused, keys_of, read_settings, setting


@setting
class Sample:
    folder: str = Setting("input.path", "a folder")
    batch: int = Setting("batch.size", "lines", 10, at_least=1)
    mode: str = Setting("mode", "how", "a", choices=("a", "b"))
    password: Secret = Setting("connection.password", "password", Secret(""))
    names: tuple[str, ...] = Setting("names", "names", (), also=("old.names",))
    flag: bool = Setting("flag", "yes or no", default=False)


def test_values_are_read_with_their_types() -> None:
    s = read_settings(Sample, {"input.path": "/x", "batch.size": "7", "mode": "B", "old.names": "p, q", "flag": "TRUE"})
    assert (s.folder, s.batch, s.mode, s.names, s.flag) == ("/x", 7, "b", ("p", "q"), True)


def test_every_error_is_told_at_once_with_its_key() -> None:
    with pytest.raises(SettingsRefused) as refused:
        read_settings(Sample, {"batch.size": "0", "mode": "c", "flag": "maybe"})
    assert {one.key for one in refused.value.findings} == {"input.path", "batch.size", "mode", "flag"}


def test_a_secret_prints_as_stars() -> None:
    s = read_settings(Sample, {"input.path": "/x", "connection.password": "hunter2"})
    assert "hunter2" not in repr(s)
    assert s.password.reveal() == "hunter2"


def test_all_spellings_of_a_key_are_known() -> None:
    assert {"names", "old.names", "input.path"} <= keys_of(Sample)
