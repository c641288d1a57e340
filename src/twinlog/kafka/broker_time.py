"""Topics of our own take the broker's time. Blocking; runs in the service.

A broker refuses records whose time is too far from its own clock: by default more than an hour ahead. With a target
broker whose clock is an hour behind, a ledger with the engine's times would take no record, and the engine could not
work. Nothing of ours depends on the time at which a record of these topics was made.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin

log = logging.getLogger("twinlog.topics")

_TYPE: Final = "message.timestamp.type"
BROKER_TIME: Final = {_TYPE: "LogAppendTime"}


def ensure_broker_time(admin: ClusterAdmin, names: Iterable[str]) -> None:
    """Set it on topics that an older version created without. Who may not do that works on, as long as clocks agree."""
    wanted = {}
    for name, answer in admin.fetch_topic_configs(names).items():
        if not isinstance(answer, ClusterError) and {c.name: c.value for c in answer}.get(_TYPE) != BROKER_TIME[_TYPE]:
            wanted[name] = BROKER_TIME
    for name, refusal in (admin.apply_topic_configs(wanted) if wanted else {}).items():
        if refusal is not None:
            what = f"set {_TYPE}={BROKER_TIME[_TYPE]} on it by hand"
            log.warning(
                "%s: %s: a broker whose clock differs may refuse our records: %s: %s",
                admin.cluster,
                name,
                what,
                refusal,
            )
