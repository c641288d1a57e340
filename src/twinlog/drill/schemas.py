"""The schemas in a drill: could the records be read on the target with the target's registry? Runs in the command."""

from __future__ import annotations

import time

from twinlog.config.settings import LinkSettings
from twinlog.drill.outcome import DrillOutcome
from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.verify.schema_proof import prove_schemas


async def rehearse_schemas(link: LinkSettings, view: LedgerView, outcome: DrillOutcome) -> None:
    """Sample the copies and decode the records as the promoted registry would. Nothing is promoted."""
    began = time.monotonic()
    try:
        proof = await prove_schemas(link, view.roster)
    except ClusterError as error:
        outcome.remarks.append(f"the schemas were not tried: {error}")
        return
    if proof is None:
        return
    outcome.step("schemas", time.monotonic() - began, proof.sentence())
    outcome.facts["schemas"] = proof.as_json()
    outcome.failures += proof.problems
