"""What the shell offers behind TAB: links, topics, groups and clusters, contexts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from twinlog.config.contexts import CONFIG_VARIABLE, contexts_path, load_contexts
from twinlog.errors import TwinlogError

if TYPE_CHECKING:
    from twinlog.surface.cli.completion_facts import Kind
    from twinlog.surface.cli.service_client import ServiceClient

COMPLETING: Final = "_TWINLOG_COMPLETE"
"""Set by the shell while it asks what to offer."""
_PLAIN_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]+")


def complete_links(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the links of the service, or of the file."""
    from twinlog.surface.cli.completion_facts import names_of_service

    client = _service(ctx)
    return _offer(names_of_service(client, "links") if client else _links(ctx), incomplete)


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the topics that the file names, and those that there are."""
    chosen = ctx.params.get("link")
    named = {topic for link, topics in _links(ctx).items() if chosen in {None, link} for topic in topics}
    plain = {topic for topic in named if _PLAIN_TOPIC.fullmatch(topic)}
    return _offer(sorted(plain.union(_names(ctx, "topics"))), incomplete)


def complete_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the consumer groups that there are."""
    return _offer(_names(ctx, "groups"), incomplete)


def complete_clusters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the targets of the file's links."""
    return _offer(dict.fromkeys(link.partition("->")[2] for link in _links(ctx)), incomplete)


def complete_aliases(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer all clusters of the file's links."""
    return _offer(sorted({alias for link in _links(ctx) for alias in link.split("->")}), incomplete)


def complete_contexts(incomplete: str) -> list[str]:
    """Offer the names of `twinlog context`."""
    with suppress(TwinlogError):
        return _offer(load_contexts(contexts_path()).names, incomplete)
    return []


def _names(ctx: typer.Context, kind: Kind) -> list[str]:
    from twinlog.surface.cli.completion_facts import End, names_of_service, names_on_cluster

    client, file = _service(ctx), _file(ctx)
    if client is not None:
        return names_of_service(client, kind, ctx.params.get("link"))
    if file is None:
        return []
    end = End(ctx.params.get("cluster"), ctx.params.get("link"), target=bool(ctx.params.get("reverse")))
    return names_on_cluster(kind, file, end)


def _service(ctx: typer.Context) -> ServiceClient | None:
    from twinlog.surface.cli.completion_facts import WITHIN_S
    from twinlog.surface.cli.service_client import opened
    from twinlog.surface.cli.service_options import address_behind_tab

    with suppress(TwinlogError):
        address = address_behind_tab(ctx.params)
        return None if address is None else opened(address, WITHIN_S, ask=False)
    return None


def _links(ctx: typer.Context) -> dict[str, list[str]]:
    from twinlog.surface.cli.completion_facts import links_of_file

    file = _file(ctx)
    return {} if file is None else links_of_file(file)


def _file(ctx: typer.Context) -> Path | None:
    file = ctx.params.get("config") or os.environ.get(CONFIG_VARIABLE)
    return Path(file) if file else None


def _offer(words: Iterable[str], incomplete: str) -> list[str]:
    """What begins like this, as the shell must see it.

    In bash `east->west` without quotes would write into a file `west`, so the `>` is escaped. Behind an escaped one
    nothing is offered: typer drops whatever does not begin like the plain word. zsh and fish quote by themselves.
    """
    matching = [word for word in words if word.startswith(incomplete)]
    typed = os.environ.get("COMP_WORDS", "").split("\n")[-1]
    if os.environ.get(COMPLETING) != "complete_bash" or typed[:1] in {"'", '"'}:
        return matching
    return [] if ">" in incomplete else [word.replace(">", "\\>") for word in matching]
