"""Becoming the engine of a link: the ledger's log decides which engine came last (R10). Runs in the engine.

is another engine alive? ── yes, and we may not take the link ─▶ give way, stand by until it ends
└─ no ─▶ our record in the ledger ─▶ read back: is it the last one? ─▶ its offset is our generation
"""

from __future__ import annotations

import logging

from twinlog.engine.rivals import RIVAL_SECONDS, Rival, RivalListener, has_ended, is_own, name_of
from twinlog.engine.state import EngineState
from twinlog.engine.switch_watch import SwitchWatch
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import SWITCH_ENGINE, Engine
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.engine")


class SigningIn:
    """Signs an engine in. `take_over`: it may take the link from another engine that lives."""

    def __init__(self, state: EngineState, target: Cluster, *, take_over: bool, follows_switch: bool) -> None:
        self._state = state
        self._target = target
        self.take_over = take_over
        self._follows_switch = follows_switch

    async def sign_in(self, writer: LedgerWriter, view: LedgerView, watch: SwitchWatch) -> None:
        """Become the link's engine, unless another one has the link, or the switch holds it.

        What a switch wrote is looked at before, so that its record stays the last word while we have not read its
        decision; and behind our own, because it may have signed in just before us.
        """
        state = self._state
        await view.catch_up(self._target, state.link.source)
        watch.shut_out = view.shut_out(state.pair)
        if self._held(watch):
            return
        there = await self._living(view)
        if there is not None and not self.take_over:
            state.give_way(there)
            return
        state.since_ms, state.took_from = SYSTEM_CLOCK.now_ms(), "" if there is None else name_of(there)
        await writer.write([state.record("starting", generation=None)])
        await view.catch_up(self._target, state.link.source)
        watch.shut_out = view.shut_out(state.pair)
        if view.engine is not None and view.engine.engine_id == SWITCH_ENGINE:
            state.signed_out = True
            return
        if view.engine is None or view.engine.engine_id != state.engine_id:
            state.phase = "superseded"
            if view.engine is not None:
                state.give_way(view.engine)
            state.stopping.set()
            return
        self.take_over = self.take_over and not state.stands_by  # an order to take it counts once
        state.generation = view.engine.generation or 0
        if self._held(watch):  # our record covers that of the switch, so it must say the same
            await writer.write([state.record("switched", state.generation)])
            return
        log.info("%s: signed in as generation %d", state.link.name, state.generation)

    async def stand_by(self, rival: Rival) -> None:
        """Wait for the end of the engine that has the link; it may be stopped, killed, or taken over itself."""
        state = self._state
        listener = RivalListener(rival, self._target, state.link.source)
        while not state.stopping.is_set() and not rival.gone:
            state.trouble = rival.says(state.link.name)
            await state.pause(RIVAL_SECONDS)
            await listener.listen()
        if not state.stopping.is_set():
            log.warning("%s: %s has ended: this engine continues", state.link.name, name_of(rival.engine))
            state.begin_anew()

    async def _living(self, view: LedgerView) -> Engine | None:
        """The engine of somebody else that has the link, once it is known to live; waits where that is in doubt."""
        state = self._state
        if view.engine is None or is_own(view.engine, state.service) or has_ended(view.engine):
            return None
        rival = Rival(view.engine)
        listener = RivalListener(rival, self._target, state.link.source)
        while not (self.take_over or rival.heard or rival.gone or state.stopping.is_set()):
            state.enter("waiting", f"{name_of(rival.engine)} had this link; waiting to see whether it still runs")
            await state.pause(RIVAL_SECONDS)
            await listener.listen()
        state.enter("starting")
        return None if rival.gone else rival.engine

    def _held(self, watch: SwitchWatch) -> bool:
        return self._follows_switch and watch.holds
