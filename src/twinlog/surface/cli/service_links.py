"""Links of a running service: connectors by their names, with the state of their links."""

from __future__ import annotations

from typing import Any, Final

from rich.table import Table
from rich.text import Text

from twinlog.errors import ServiceRefused, UsageError
from twinlog.surface.cli.output import Output, screen
from twinlog.surface.cli.service_client import ServiceClient
from twinlog.surface.cli.words import duration, number

_COLOURS: Final = {"RUNNING": "green", "CATCHING_UP": "yellow", "PAUSED": "yellow", "STOPPED": "yellow"}
_BASIC: Final = ("link", "state", "lag_records", "lag_seconds", "faults", "reason")
_OF_FILE: Final = ("link", "topics", "from")
_MORE: Final = ("connector", "records_per_second", "rpo_seconds", "topics", "partitions", "class", "active")


def service_links(client: ServiceClient) -> list[dict[str, Any]]:
    """All of them, one row each: what Connect calls it, and what /v1 knows of it."""
    connectors = client.get("connectors", query="?expand=info&expand=status")
    known = {row["link"]: row for row in client.get("v1", "links")}
    rows = [
        _row(name, connector, known) for name, connector in connectors.items() if _copies(connector["info"]["config"])
    ]
    return sorted(rows, key=lambda row: str(row["link"]))


def service_link(client: ServiceClient, name: str) -> dict[str, Any]:
    """One of them with everything: its row, detail, connector status and config."""
    row = chosen_row(service_links(client), name, client)
    connector = row["connector"]
    try:
        detail = client.get("v1", "links", row["link"])
    except ServiceRefused:
        # A link that stands still is not looked at; its connector is known all the same.
        detail = {}
    return {
        **detail,
        **row,
        "tasks": client.get("connectors", connector, "status")["tasks"],
        "config": client.get("connectors", connector, "config"),
    }


def chosen_row(rows: list[dict[str, Any]], name: str, client: ServiceClient) -> dict[str, Any]:
    """The one that is called so, by its link or its connector."""
    for row in rows:
        if name in {row["link"], row["connector"]}:
            return row
    known = ", ".join(str(row["link"]) for row in rows) or "none"
    raise UsageError(f"{name}: no such link at {client.address.url}; it has: {known}")


def _copies(config: dict[str, str]) -> bool:
    from twinlog.control.kinds import kind_of
    from twinlog.model.connectors import Connector

    kind = kind_of(Connector("", config))
    return kind is not None and kind.role == "link"


def _row(name: str, connector: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    from twinlog.control.link_plan import link_name
    from twinlog.model.connectors import Connector

    config, status = connector["info"]["config"], connector["status"]["connector"]
    link = link_name(Connector(name, config))
    seen = known.get(link, {})
    running = status["state"] == "RUNNING"
    return {
        "link": link,
        "connector": name,
        "state": seen.get("state", "RUNNING") if running else status["state"],
        "reason": (seen.get("reason") if running else status.get("trace")) or "",
        "lag_records": seen.get("lag_records"),
        "lag_seconds": seen.get("lag_seconds"),
        "faults": seen.get("faults"),
        "records_per_second": seen.get("records_per_second"),
        "rpo_seconds": (seen.get("rpo") or {}).get("seconds"),
        "topics": seen.get("topics"),
        "partitions": seen.get("partitions"),
        "class": config.get("connector.class", "").rpartition(".")[2],
        "active": seen.get("active"),
    }


def links_table(rows: list[dict[str, Any]], *, wide: bool) -> Table:
    """Rows of a service, or of a file."""
    if rows[0]["connector"] is None:
        titles: tuple[str, ...] = _OF_FILE
    else:
        titles = (*_BASIC[:-1], *(_MORE if wide else ()), _BASIC[-1])
    table = Table()
    for title in titles:
        table.add_column(title.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(title, row[title]) for title in titles))
    return table


def _cell(title: str, value: Any) -> Text:
    if value is None:
        return Text("-")
    if title == "state":
        return Text(str(value), _COLOURS.get(str(value), "red"))
    if title.endswith("seconds"):
        return Text(duration(value))
    return Text(number(value) if isinstance(value, int | float) else str(value))


def print_link(link: dict[str, Any], output: Output) -> None:
    """One link for people; `wide` also prints its config."""
    console = screen(output)
    for title in (*_BASIC[:-1], *_MORE, _BASIC[-1]):
        console.print(Text(f"{title.replace('_', ' '):18} ", "bold").append_text(_cell(title, link[title])))
    for fault in link.get("fault_list", ()):
        console.print(Text(f"{fault['code']}  {fault['says']}", "red"), soft_wrap=True)
        console.print(Text(f"  try: {fault['remedy']}"), soft_wrap=True)
    for chore in link.get("chores", ()):
        if chore["trouble"]:
            console.print(Text(f"{chore['chore']}: {chore['trouble']}", "yellow"), soft_wrap=True)
    for key, value in sorted(link["config"].items()) if output is Output.WIDE else ():
        console.print(Text(f"  {key} = {value}"), soft_wrap=True)
