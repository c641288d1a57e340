"""Where the words behind TAB come from: the settings file, a cluster, a running service; each remembered for a while.

Whoever presses TAB waits: nothing takes longer than two seconds, and whatever goes wrong offers nothing. Here alone
silence is right: a word of ours would land in somebody's command line.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from twinlog.errors import TwinlogError
from twinlog.machine.folders import cache_folder, write_atomically
from twinlog.model.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from twinlog.config.settings import ClientSettings, LinkSettings
    from twinlog.surface.cli.service_client import ServiceClient

Kind = Literal["topics", "groups"]
WITHIN_S: Final = 2.0
_FRESH_S: Final = 10.0
_NOTHING_FRESH_S: Final = 2.0
_FILE_FRESH_S: Final = 86_400.0
_MOST: Final = 500


def links_of_file(file: Path) -> dict[str, list[str]]:
    """The links of a file, each with the topics that it names. The file is read again only when it changed."""

    def read() -> dict[str, list[str]]:
        from twinlog.config.resolve import load_file

        return {link.name: list(link.topics.include) for link in load_file(file).links}

    try:
        seen = file.stat()
    except OSError:
        return {}
    links = _remembered(f"links {file.absolute()}", f"{seen.st_mtime_ns} {seen.st_size}", _FILE_FRESH_S, read)
    return links if isinstance(links, dict) else {}


@dataclass(frozen=True)
class End:
    """Which cluster a word is about: the one of an alias, or an end of one link or of all."""

    cluster: str | None = None
    link: str | None = None
    target: bool = False

    def of(self, link: LinkSettings) -> ClientSettings | None:
        """Find it among the two of a link."""
        if self.cluster is not None:
            return {link.source: link.clients.source_admin, link.target: link.clients.target_admin}.get(self.cluster)
        if self.link not in {None, link.name}:
            return None
        return link.clients.target_admin if self.target else link.clients.source_admin


def names_on_cluster(kind: Kind, file: Path, end: End) -> list[str]:
    """Topics or groups of the clusters that are meant; those that do not answer in time have none."""

    def ask() -> list[str]:
        # Loading is not waiting: on a busy machine the cluster would be left no time to answer in.
        from twinlog.config.resolve import load_file
        from twinlog.kafka.admin import ClusterAdmin
        from twinlog.kafka.group_members import list_groups

        clients = {
            end_client.cluster: end_client for link in load_file(file).links if (end_client := end.of(link)) is not None
        }

        def of_all() -> list[str]:
            names: set[str] = set()
            for client in clients.values():
                admin = ClusterAdmin(client.model_copy(update={"request_timeout_ms": int(WITHIN_S * 1000)}))
                names.update(admin.list_topics() if kind == "topics" else list_groups(admin))
            return sorted(name for name in names if not name.startswith("__"))

        return _in_time(of_all)

    return _words(_remembered(f"{kind} {file.absolute()} {end}", "", _FRESH_S, ask))


def names_of_service(client: ServiceClient, kind: Kind | Literal["links"], link: str | None = None) -> list[str]:
    """Links, topics or groups of a running service."""

    def ask() -> list[str]:
        rows = client.get("v1", "links")
        links = [row["link"] for row in rows if link in {None, row["link"]}]
        if kind == "links":
            return links
        query = f"?limit={_MOST}"
        pages = [client.get("v1", "links", name, kind, query=query)["rows"] for name in links]
        return sorted({row[kind[:-1]] for page in pages for row in page})

    return _words(_remembered(f"{kind} {client.address.url} {link}", "", _FRESH_S, lambda: _in_time(ask)))


def _words(answer: Any) -> list[str]:
    return [word for word in answer if isinstance(word, str)] if isinstance(answer, Iterable) else []


def _in_time(ask: Callable[[], list[str]]) -> list[str]:
    """The answer, or none when it takes too long. The thread ends with the process, which has nothing else to do."""
    answers: list[list[str]] = []

    def work() -> None:
        with suppress(TwinlogError, OSError, KeyError, TypeError):
            answers.append(ask())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WITHIN_S)
    return answers[0] if answers else []


def _remembered(about: str, stamp: str, seconds: float, ask: Callable[[], Any]) -> Any:
    """What was answered a moment ago, or a new answer; also that there was none: the second TAB must not wait again."""
    path = cache_folder() / "completion" / f"{hashlib.sha256(about.encode()).hexdigest()[:24]}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_bytes())
        fresh = seconds if kept["found"] else min(seconds, _NOTHING_FRESH_S)
        if kept["stamp"] == stamp and 0 <= SYSTEM_CLOCK.now_s() - kept["at"] < fresh:
            return kept["found"]
    answer: Any = []
    with suppress(TwinlogError, OSError):
        answer = ask()
    with suppress(OSError):
        write_atomically(path, json.dumps({"at": SYSTEM_CLOCK.now_s(), "stamp": stamp, "found": answer}), 0o600)
    return answer
