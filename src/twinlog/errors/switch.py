"""The switch."""

from __future__ import annotations

from dataclasses import dataclass

from twinlog.errors.root import TwinlogError


@dataclass(eq=False)
class SwitchRefused(TwinlogError):
    """A switch was not begun: nothing was changed on either cluster."""

    code = "SWITCH_REFUSED"
    says = "{link}: {reason}; nothing was changed"
    remedy = "{way}"

    link: str
    reason: str
    way: str


@dataclass(eq=False)
class SwitchRunning(SwitchRefused):
    """Another switch of the same pair of clusters is under way."""

    code = "SWITCH_RUNNING"


@dataclass(eq=False)
class SwitchStopped(TwinlogError):
    """A switch stands at a step that did not work. What was done stays done and is in the journal."""

    code = "SWITCH_STOPPED"
    says = "{link}: the step {step} did not work: {reason}"
    remedy = "Repair the cause, then `twinlog switch resume '{link}'` continues at this step. {way}"

    link: str
    step: str
    reason: str
    way: str = ""


@dataclass(eq=False)
class SwitchTakenOver(SwitchStopped):
    """Another process continues this switch; this one changes nothing more (R10)."""

    code = "SWITCH_TAKEN_OVER"
    says = "{link}: at the step {step} another process took the switch over: {reason}"
    remedy = "Nothing to do here; `twinlog switch status '{link}'` shows how it continues."


@dataclass(eq=False)
class RedirectFailed(TwinlogError):
    """A hook did not do its work, or what it wrote was not read back."""

    code = "REDIRECT_FAILED"
    says = "hook {hook}: {reason}"
    remedy = "Repair what it talks to, or its settings (redirects.{hook}.*)."

    hook: str
    reason: str
