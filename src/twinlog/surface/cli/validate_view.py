"""What `twinlog validate` shows: per link the settings that are not defaults, the findings, and the verdict last.

The verdict is the last line because a terminal shows the end of a long answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from twinlog.errors import Finding

if TYPE_CHECKING:
    from twinlog.config.text.lookup import Origin

_ENDS: Final[dict[tuple[str, ...], str]] = {
    ("source consumer", "source admin", "source producer"): "source",
    ("target consumer", "target producer", "target admin"): "target",
    ("target consumer", "target admin", "target producer"): "target",
}
_ALWAYS: Final = frozenset({"topics", "start.from"})
"""What is asked first about a link."""
_LEVELS: Final = ("info", "warning", "error")


class Row(NamedTuple):
    """One line about a link: the setting, its value, and where the value was decided."""

    setting: str
    value: str
    line: int | None
    key: str | None

    @property
    def place(self) -> str:
        """The line of the file, with its key where that says more than the setting's own name."""
        if self.line is None:
            return "default"
        return f"line {self.line}" if self.key == self.setting else f"line {self.line}: {self.key}"


def rows_of(origins: Mapping[str, Origin], *, everything: bool) -> Iterator[Row]:
    """Yield the settings to show; clients of one end that have the same value from the same line are one row."""
    by_origin: dict[tuple[str, str, int | None, str | None], list[str]] = {}
    for name, origin in origins.items():
        if not everything and origin.line is None and name not in _ALWAYS:
            continue
        client, _, setting = name.rpartition(": ")
        by_origin.setdefault((setting, origin.value, origin.line, origin.key), []).append(client)
    for (setting, value, line, key), clients in by_origin.items():
        whose = ", ".join(_merged(clients))
        yield Row(f"{whose}: {setting}" if whose else setting, value, line, key)


def _merged(clients: Sequence[str]) -> Iterator[str]:
    for end, own in groupby(clients, key=lambda client: client.partition(" ")[0]):
        names = tuple(own)
        yield _ENDS.get(names, ", ".join(names) if end else "")


def table_of(link: str, rows: Iterable[Row]) -> Table:
    """Draw the settings of a link. Names are never broken; long values are folded."""
    table = Table(title=link, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("setting", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold", min_width=8)
    for row in rows:
        # As Text: patterns with brackets would be taken for markup.
        table.add_row(Text(row.setting), Text(row.value), Text(row.place, style="dim" if row.line is None else ""))
    return table


def by_weight(findings: Iterable[Finding]) -> list[Finding]:
    """Order findings: errors last, next to the verdict; within a level by line."""
    return sorted(findings, key=lambda finding: (_LEVELS.index(finding.level), finding.line or 0))


def verdict(file: str, findings: Sequence[Finding], links: Sequence[str] | None) -> str:
    """Say in one line whether the file can be run. `links` is None for a file with errors."""
    count = {level: sum(finding.level == level for finding in findings) for level in _LEVELS}
    warnings = _counted(count["warning"], "warning")
    notes = _counted(count["info"], "note")
    if links is None:
        return f"{file}: not valid: {_counted(count['error'], 'error')}, {warnings}, {notes}. Nothing would be started."
    return f"{file}: valid. {_counted(len(links), 'link')}: {', '.join(links)}. {warnings}, {notes}."


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
