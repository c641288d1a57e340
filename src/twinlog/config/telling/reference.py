"""The reference of all settings, made from the catalogue: `python -m twinlog.config.telling.reference [--check]`.

Runs by hand and in `make check`, at the root of the sources. The same catalogue gives the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from twinlog.config.telling.generated import keep
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Meaningless, Scope, Supported
from twinlog.config.text.precedence import (
    SOURCE_ADMIN,
    SOURCE_CONSUMER,
    SOURCE_PRODUCER,
    TARGET_ADMIN,
    TARGET_CONSUMER,
    TARGET_PRODUCER,
    client_keys,
    link_keys,
)
from twinlog.model.names import LinkName

PAGE: Final = Path("docs/reference/settings.md")

_HEAD = """\
# Settings

This page is generated from the catalogue of settings (`make reference`); do not edit it by hand.

A settings file is a MirrorMaker 2 properties file. `twinlog validate -c FILE` shows what it comes to and from which
lines, `--explain KEY` all about one setting. Where the defaults differ, MirrorMaker 2's (or the Java client's) is shown
beside ours.

Of several spellings of a setting the strongest counts. For a link `A->B` that is, the strongest first:

"""

_ROLES = {
    SOURCE_CONSUMER: "reads records",
    SOURCE_ADMIN: "topics, configs, ACLs, groups",
    SOURCE_PRODUCER: "writes offset-syncs",
    TARGET_PRODUCER: "writes records, checkpoints, heartbeats",
    TARGET_ADMIN: "topics, configs, ACLs, groups",
    TARGET_CONSUMER: "reads checkpoints",
}
_COLUMNS = "| key | default | MirrorMaker 2's | meaning | allowed | where |\n|---|---|---|---|---|---|\n"
_Chosen = Callable[[Key[Any]], bool]


def page() -> str:
    """Return the whole page."""
    return "".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    yield from _order()
    parts: tuple[tuple[str, _Chosen], ...] = (
        ("The file", lambda key: Scope.FILE in key.scopes and not key.own),
        ("The service", lambda key: Scope.FILE in key.scopes and key.own),
        ("A link", lambda key: bool({Scope.LINK, Scope.LINK_ONLY} & set(key.scopes)) and not key.own),
        ("A link: Twinlog's own", lambda key: key.own and Scope.FILE not in key.scopes),
        ("Every client", lambda key: Scope.SHARED in key.scopes),
        ("One kind of client", lambda key: bool({Scope.CONSUMER, Scope.PRODUCER, Scope.ADMIN} & set(key.scopes))),
    )
    for title, chosen in parts:
        read = [key for key in CATALOGUE if isinstance(key.support, Supported) and chosen(key)]
        yield f"\n## {title}\n\n{_COLUMNS}"
        yield from map(_row, read)
    yield "\n## Known, without meaning here\n\nMirrorMaker 2 or the Java clients read them. A remark says why they set "
    yield "nothing here.\n\n| where | keys | why |\n|---|---|---|\n"
    yield from _without_meaning()


def _order() -> Iterator[str]:
    link = LinkName("A", "B")
    yield "| whose | order |\n|---|---|\n"
    yield f"| the link | {_code(link_keys(link, 'k'))} |\n"
    for role, use in _ROLES.items():
        yield f"| {role.name} ({use}) | {_code(client_keys(role, link, 'k', shared=True))} |\n"
    yield "\n`A.k`, `B.k`, `k` and `A->B.source.cluster.k` count only for settings of [every client](#every-client).\n"


def _code(ways: tuple[str, ...]) -> str:
    return ", ".join(f"`{way}`" for way in ways)


def _row(key: Key[Any]) -> str:
    name = f"`{key.name}`" + "".join(f" (old: `{old}`)" for old in key.old_names)
    mirrormaker = "-" if key.own else "the same" if key.mm2_default is None else f"`{key.mm2_default}`"
    default = "" if key.default is None else f"`{key.default}`" if key.default else "empty"
    secret = " Masked in every output." if key.secret else ""
    where = " or ".join(scope.value for scope in key.scopes)
    cells = (name, default, mirrormaker, key.meaning + secret, key.kind.allowed, where)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _without_meaning() -> Iterator[str]:
    together: dict[tuple[str, str], list[str]] = {}
    for key in CATALOGUE:
        if isinstance(key.support, Meaningless):
            where = " or ".join(scope.value for scope in key.scopes)
            together.setdefault((where, key.support.reason), []).append(f"`{key.name}`")
    for (where, why), names in together.items():
        yield f"| {where} | {', '.join(sorted(names))} | {_sentence(why)} |\n"


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


if __name__ == "__main__":
    sys.exit(keep({PAGE: page()}, "the catalogue says", sys.argv[1:]))
