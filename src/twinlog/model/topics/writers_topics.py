"""Topics that producers look for after a failover, where copies have other names than their originals. Pure.

With prefixed names `orders` is copied into `east.orders`. Producers that move to the target write to `orders`, which
does not exist there unless somebody creates it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from twinlog.model.ledger.records import RosterTopic
from twinlog.model.naming import ReplicationNaming

_NAMED: Final = 5


def missing_for_writers(
    roster: Iterable[RosterTopic], naming: ReplicationNaming, there: Collection[str]
) -> tuple[str, ...]:
    """The names that producers use on the source and will not find among the topics of the target."""
    wanted = (entry.topic for entry in roster if entry.remote != entry.topic and not naming.is_heartbeats(entry.topic))
    return tuple(sorted(topic for topic in wanted if topic not in there))


def says_missing(topics: Collection[str], link: str, target: str) -> str:
    """The sentence of doctor, plan and report."""
    some = ", ".join(sorted(topics)[:_NAMED])
    more = f" and {len(topics) - _NAMED} more" if len(topics) > _NAMED else ""
    return (
        f"producers will not find {len(topics):,} topic{'' if len(topics) == 1 else 's'} on {target}: {some}{more}. "
        f"`twinlog link prepare '{link}'` creates them with the configs of their copies"
    )
