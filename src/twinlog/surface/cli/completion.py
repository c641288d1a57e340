"""What the shell offers behind TAB: links, topics and clusters of the settings file, contexts.

Quick, and silent when there is nothing to offer: a wrong file must not write into somebody's command line. Clusters are
not asked; that could take seconds.
"""

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
    from twinlog.config.settings import LinkSettings

COMPLETING: Final = "_TWINLOG_COMPLETE"
"""Set by the shell while it asks what to offer."""
_PLAIN_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]+")


def complete_links(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the links of the file."""
    return _offer((link.name for link in _links(ctx)), incomplete)


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the topics that the file names, of the chosen link or of all; patterns are no names."""
    chosen = ctx.params.get("link")
    links = [link for link in _links(ctx) if chosen in {None, link.name}]
    topics = {topic for link in links for topic in link.topics.include if _PLAIN_TOPIC.fullmatch(topic)}
    return _offer(sorted(topics), incomplete)


def complete_clusters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the targets of the file's links."""
    return _offer(dict.fromkeys(link.target for link in _links(ctx)), incomplete)


def complete_contexts(incomplete: str) -> list[str]:
    """Offer the names of `twinlog context`."""
    with suppress(TwinlogError):
        return _offer(load_contexts(contexts_path()).names, incomplete)
    return []


def _links(ctx: typer.Context) -> tuple[LinkSettings, ...]:
    from twinlog.config.resolve import load_file

    file = ctx.params.get("config") or os.environ.get(CONFIG_VARIABLE)
    with suppress(TwinlogError, OSError):
        return load_file(Path(file)).links if file else ()
    return ()


def _offer(words: Iterable[str], incomplete: str) -> list[str]:
    """What begins like this, as the shell must see it.

    In bash `east->west` without quotes would write into a file `west`, so the `>` is escaped. Behind an escaped one
    nothing is offered: typer drops whatever does not begin like the plain word. zsh and fish quote by themselves.
    """
    found = [word for word in words if word.startswith(incomplete)]
    typed = os.environ.get("COMP_WORDS", "").split("\n")[-1]
    if os.environ.get(COMPLETING) != "complete_bash" or typed[:1] in {"'", '"'}:
        return found
    return [] if ">" in incomplete else [word.replace(">", "\\>") for word in found]
