"""Arguments and options that many commands share, so that they read, teach and complete alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from twinlog.config.contexts import CONFIG_VARIABLE
from twinlog.errors import UsageError
from twinlog.surface.cli.completion import (
    complete_aliases,
    complete_clusters,
    complete_groups,
    complete_links,
    complete_topics,
)

_FILE = typer.Option(
    "--config", "-c", envvar=CONFIG_VARIABLE, help="The file that `twinlog run` uses. Default: of `twinlog context`."
)

ConfigFile = Annotated[Path, _FILE]
OptionalConfigFile = Annotated[Path | None, _FILE]


def _whole(link: str | None) -> str | None:
    """Tell those who forgot the quotes: their shell made a file, and left us half a name."""
    if link is not None and link.endswith("-") and "->" not in link:
        raise typer.BadParameter(f"your shell took the `>` behind `{link}` for a file; write the link in quotes")
    return link


_LINK = typer.Argument(help="The link, e.g. 'east->west' (in quotes).", autocompletion=complete_links, callback=_whole)
LinkArgument = Annotated[str, _LINK]
OptionalLink = Annotated[str | None, _LINK]
LinkOption = Annotated[
    str | None,
    typer.Option(
        "--link",
        "-l",
        metavar="LINK",
        help="Only this link, e.g. 'east->west' (in quotes).",
        autocompletion=complete_links,
        callback=_whole,
    ),
]
TopicArgument = Annotated[
    str, typer.Argument(help="A topic, by its name on the source.", autocompletion=complete_topics)
]
TopicOption = Annotated[
    str,
    typer.Option("--topic", help="The topic, by its name on the side you come from.", autocompletion=complete_topics),
]
GroupArgument = Annotated[str, typer.Argument(help="A consumer group.", autocompletion=complete_groups)]
ClusterOption = Annotated[
    str, typer.Option("--cluster", help="The cluster, by its alias in the file.", autocompletion=complete_aliases)
]
Clusters = Annotated[
    list[str] | None,
    typer.Option(
        "--clusters",
        help="Only links into these clusters; repeat, or use commas.",
        autocompletion=complete_clusters,
    ),
]
Master = Annotated[str | None, typer.Option(help="Spark master, e.g. spark://host:7077. Default: on this machine.")]
SparkConf = Annotated[list[str] | None, typer.Option("--spark-conf", help="KEY=VALUE for Spark.")]


def spark_options(given: list[str] | None) -> tuple[tuple[str, str], ...]:
    """The settings of --spark-conf. Raises UsageError."""
    for pair in given or ():
        if not pair.partition("=")[1]:
            raise UsageError(f"--spark-conf {pair}: write KEY=VALUE")
    return tuple((key, value) for key, _, value in (pair.partition("=") for pair in given or ()))
