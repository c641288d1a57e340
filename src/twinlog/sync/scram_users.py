"""Sync job "logins": SCRAM users of the source who could not log in at the target, listed (model/access/scram_users).

Runs in the service's loop. `twinlog diff` and the doctor use the same comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from twinlog.config.link_values import LoginSyncSettings
from twinlog.config.settings import ClientSettings
from twinlog.errors import AccessDenied, BrokerAway, BrokerRefused, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.access.scram_users import MissingUser, ScramUsers, missing_users
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.wire.connection import Cluster
from twinlog.wire.scram import fetch_scram_users

CHORE: Final = "logins"


async def compared_users(ends: LinkEnds) -> tuple[ScramUsers, list[MissingUser]]:
    """The source's users, and those of them who are missing on the target. Raises AccessDenied, BrokerRefused."""
    source = await _users(ends.link.clients.source_admin, ends.link.name)
    target = await _users(ends.link.clients.target_admin, ends.link.name)
    return source, missing_users(source, target)


async def _users(settings: ClientSettings, link: str) -> ScramUsers:
    cluster = Cluster(settings, f"twinlog|{link}|logins")
    try:
        return await fetch_scram_users(cluster)
    except BrokerAway as error:
        raise ClusterUnreachable(settings.cluster, f"listing users: {error.problem}") from error
    finally:
        await cluster.close()


@dataclass
class ScramUserList:
    """The sync job of one link. It changes nothing."""

    ends: LinkEnds
    settings: LoginSyncSettings
    name: str = CHORE

    @property
    def seconds(self) -> float:
        """How long to wait after one step before the next."""
        return self.settings.seconds

    async def step(self, _: LedgerView) -> Outcome:
        target = self.ends.link.target
        try:
            users, missing = await compared_users(self.ends)
        except (AccessDenied, BrokerRefused) as refused:
            return Outcome(findings=[f"{refused}; or set sync.scram.users.mode = off"])
        return Outcome(
            counts={"users": len(users), "missing": len(missing)},
            findings=[f"user {user} cannot log in on {target}: create the user there" for user in missing],
        )
