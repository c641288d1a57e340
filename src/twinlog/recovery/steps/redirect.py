"""The step that sends clients to the active side: the hooks of the settings, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, assert_never

from twinlog.config.switch_settings import Redirect
from twinlog.errors import RedirectFailed, SwitchStopped
from twinlog.model.switch.facts import Redirected
from twinlog.model.switch.redirects import Direction
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.redirect import command, consul, etcd, webhook

_GRACE_S: Final = 5.0


def direction_of(ctx: SwitchContext) -> Direction:
    """Where clients are to go: the active side by the decision that holds."""
    state = ctx.journal.state
    active = ctx.link.source if state is None else state.active
    client = ctx.link.clients.target_producer if active == ctx.link.target else ctx.back.clients.target_producer
    former = ctx.link.source if active == ctx.link.target else ctx.link.target
    generation = 0 if state is None else state.generation
    return Direction(active, former, ",".join(client.bootstrap_servers), generation, ctx.link.name)


async def redirect(ctx: SwitchContext) -> StepResult:
    """Call each hook once; one that worked is not called again when the switch is resumed."""
    direction = direction_of(ctx)
    said: list[str] = []
    for hook in ctx.link.switch.redirects:
        if hook.name in (ctx.find(Redirected) or Redirected()).called:
            continue
        ctx.say(f"hook {hook.name} ({hook.kind})")
        try:
            async with asyncio.timeout(hook.timeout_seconds + _GRACE_S):
                outcome = await asyncio.to_thread(_function(hook), hook, direction)
        except TimeoutError:
            reason = f"hook {hook.name}: no end within {hook.timeout_seconds} s"
            raise SwitchStopped(ctx.link.name, "redirect", reason) from None
        except RedirectFailed as failed:
            raise SwitchStopped(ctx.link.name, "redirect", str(failed)) from failed
        await ctx.journal.note("redirect", "note", facts=Redirected(called={hook.name: outcome}))
        said.append(f"{hook.name}: {outcome}")
    return StepResult(
        "; ".join(said) or "No redirect hook configured: move the clients yourself", Redirected(active=direction.active)
    )


def _function(hook: Redirect) -> Callable[[Redirect, Direction], str]:
    match hook.kind:
        case "command":
            return command.call
        case "webhook":
            return webhook.call
        case "dns":
            from twinlog.recovery.redirect import dns  # noqa: PLC0415  its library is a tenth of a command's start

            return dns.call
        case "etcd":
            return etcd.call
        case "consul":
            return consul.call
        case _:
            assert_never(hook.kind)
