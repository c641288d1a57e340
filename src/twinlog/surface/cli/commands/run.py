"""`twinlog run`: mirror what the file says until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import Finding, LinkTaken, UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.mirrormaker1_flags import (
    Abort,
    ConsumerConfig,
    Include,
    Mirrormaker1,
    NumStreams,
    ProducerConfig,
)
from twinlog.surface.cli.misuse import NO_FILE_GIVEN
from twinlog.surface.cli.options import Clusters, Master, OptionalConfigFile, SparkConf, spark_options
from twinlog.surface.cli.output import Form, Output, chosen_clusters, print_findings
from twinlog.surface.cli.serving import run_service, voice

if TYPE_CHECKING:
    from twinlog.config.resolve import Resolved
    from twinlog.config.settings import LinkSettings
    from twinlog.model.ledger.records import Engine as EngineEntry
    from twinlog.service.links import Service
    from twinlog.surface.http.listening import HttpService


def run(
    *,
    config: OptionalConfigFile = None,
    clusters: Clusters = None,
    master: Master = None,
    spark_conf: SparkConf = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(help="Answer over HTTP at HOST:PORT, e.g. 127.0.0.1:8083, and at unix:PATH for admins here."),
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take links also from another engine that runs them now.")
    ] = False,
    consumer_config: ConsumerConfig = None,
    producer_config: ProducerConfig = None,
    include: Include = "",
    num_streams: NumStreams = 1,
    abort_on_send_failure: Abort = "true",
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Mirror until Ctrl-C or SIGTERM, which end cleanly: what was read is written and recorded first.

    The file is watched: a change takes effect within seconds, for the links that it concerns. SIGHUP reads it at once.

    With --listen the service answers over HTTP: Kafka Connect's REST interface makes, changes and holds links. Services
    with the same group.id are standbys of each other. Without a login everybody on this machine may read. You may give
    orders, with the link that is printed and with your own commands. Users who may write to the Unix socket may, too.

    Another engine may run a link already. At a terminal the command asks before it takes the link; elsewhere it ends
    with exit code 4, unless --take-over is given. With --listen it starts and waits for the end of the other one. An
    engine that was stopped or killed, and a standby of the same group, need no flag.

    The flags of MirrorMaker 1 (kafka-mirror-maker.sh) work as well, instead of --config: they become a settings file,
    and the link begins at the committed offsets of its group. Stop MirrorMaker 1 first.
    """
    from twinlog.config.watch import SettingsWatch
    from twinlog.service import SparkPlace
    from twinlog.service.link_transforms import check_file
    from twinlog.service.links import Service

    old = Mirrormaker1(consumer_config, producer_config, include, num_streams, abort_on_send_failure)
    if old.given:
        config = old.settings_file(config)
    elif config is None:
        raise UsageError(f"twinlog run: {NO_FILE_GIVEN}")
    watch = SettingsWatch(config, chosen_clusters(clusters))
    resolved = check_file(watch.load())
    print_findings(resolved.findings, output)
    if not resolved.links and not listen:
        raise UsageError(f"{config}: there is no link in it; with --listen links can be made over HTTP")
    if dry_run:
        would(*_plan(resolved, master, listen or ()))
        return
    if not listen and resolved.service.otel is not None:
        unheard = "nothing is reported to it without --listen"
        print_findings([Finding("warning", str(config), None, "otel.endpoint", unheard)], output)
    group = resolved.service.group_id if listen else ""
    take_over = take_over or _asked_to_take(resolved.links, group, listening=bool(listen))
    http = None if not listen else _open_http(listen, resolved)
    options = spark_options(spark_conf)
    say = voice(output)
    for link in resolved.links:
        say("starting", link.name, f"topics {','.join(link.topics.include)} from {link.copies.start_from}")

    def make(scratch: Path) -> Service:
        return Service(
            resolved.links,
            SparkPlace(master, options),
            scratch,
            resolved.heartbeats,
            stays=http is not None,
            group=group,
            take_over=take_over,
        )

    run_service(make, watch, output, http)


def _asked_to_take(links: Sequence[LinkSettings], group: str, *, listening: bool) -> bool:
    """Whether links may be taken from living engines. Raises LinkTaken where nobody can be asked, or says no."""
    at_terminal = sys.stdin.isatty()
    if listening and not at_terminal:
        return False  # a service waits for the end of the other engine
    from twinlog.engine.rivals import name_of
    from twinlog.service import living_engine

    async def look() -> list[EngineEntry | None]:
        return await asyncio.gather(*(living_engine(link, group) for link in links))

    taken = [(link.name, there) for link, there in zip(links, asyncio.run(look()), strict=True) if there is not None]
    for link, there in taken:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((there.since_ms or there.at_ms) / 1000))
        owner = f"{name_of(there)}, signed in at {since},"
        if not at_terminal or not typer.confirm(f"{link}: {owner} is alive and copies. Take the link from it?"):
            raise LinkTaken(link, owner)
    return bool(taken)


def _plan(resolved: Resolved, master: str | None, listen: Sequence[str]) -> Iterator[str]:
    for link in resolved.links:
        topics = ",".join(link.topics.include) or "none (`topics` is empty)"
        what = f"topics {topics} from {link.copies.start_from}"
        yield f"{link.name}: would be mirrored: {what}, on Spark {master or 'here'}"
    for pair in resolved.heartbeats:
        yield f"{pair.name}: a heartbeat would be written to {pair.target} every {pair.seconds} s"
    for address in listen:
        yield f"{address}: would answer over HTTP"


def _open_http(listen: Sequence[str], resolved: Resolved) -> HttpService:
    from twinlog.surface.http.listening import HttpService

    return HttpService.open(listen, resolved)
