"""Files of connectors and workers as Connect has them: JSON or properties. Pure but for reading the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import javaproperties

from twinlog.pipelines.settings import Finding, SettingsRefused


def read_properties(path: Path) -> dict[str, str]:
    """A properties file. Raises SettingsRefused."""
    try:
        with path.open("rb") as file:
            properties = javaproperties.load(file)
    except OSError as error:
        raise _unread(path, error) from error
    except ValueError as error:
        raise SettingsRefused([Finding(None, f"{path}: these are no properties: {error}")]) from error
    return {str(key): str(value).strip() for key, value in properties.items()}


def read_connector_file(path: Path) -> tuple[str, dict[str, str]]:
    """Name and configuration of a connector: `{"name", "config"}`, a flat JSON object, or properties with `name`."""
    if path.suffix != ".json":
        return _named(path, read_properties(path))
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise _unread(path, error) from error
    except ValueError as error:
        raise SettingsRefused([Finding(None, f"{path}: this is no JSON: {error}")]) from error
    if not isinstance(document, dict):
        raise SettingsRefused([Finding(None, f"{path}: a connector is a JSON object")])
    if isinstance(document.get("config"), dict):
        config = texts(document["config"])
        if document.get("name"):
            config.setdefault("name", str(document["name"]))
        return _named(path, config)
    return _named(path, texts(document))


def texts(config: Mapping[str, Any]) -> dict[str, str]:
    """Values as the text that a properties file would hold; null values are left out."""
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in config.items()
        if value is not None
    }


def _unread(path: Path, error: OSError) -> SettingsRefused:
    return SettingsRefused([Finding(None, f"{path}: the file cannot be read ({error.strerror})")])


def _named(path: Path, config: dict[str, str]) -> tuple[str, dict[str, str]]:
    name = config.get("name", "").strip()
    if not name:
        raise SettingsRefused([Finding("name", f"{path}: the connector has no name")])
    return name, config
