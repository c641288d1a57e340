"""The card of a switch: what application teams and operators must know when it has ended. Pure.

the plan ─▶ CardFacts, kept in the claim of the switch ─┐
the journal: outcome, active side, fences, loss ────────┴▶ Card ─▶ terminal, page, Markdown for the incident channel
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from twinlog.model.groups.positions import continues
from twinlog.model.health.loss_range import LossRange
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.switch.facts import Loss, Redirected, Resumed, Reversed
from twinlog.model.switch.log import Switch, switch_name
from twinlog.model.switch.plan import Facts

_NAMED: Final = 20


class CardFacts(BaseModel):
    """What the plan knows and the journal would not tell."""

    model_config = ConfigDict(frozen=True)

    bootstrap: dict[str, str] = {}
    read: tuple[str, ...] = ()
    read_count: int = 0
    write: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    groups: int = 0
    read_again: dict[str, int] = {}


def card_facts(facts: Facts, naming: ReplicationNaming, bootstrap: Mapping[str, Sequence[str]]) -> CardFacts:
    """Choose from the facts of a plan. Long lists are cut; their lengths are kept."""
    failover = facts.command.startswith("failover")
    topics = sorted(facts.topics)
    there = [naming.remote(facts.link.source, topic) for topic in topics] if failover else topics
    ranked = sorted(facts.read_again.items(), key=lambda group: -group[1])
    return CardFacts(
        bootstrap={alias: ",".join(servers) for alias, servers in bootstrap.items()},
        read=tuple(there[:_NAMED]),
        read_count=len(there),
        write=tuple(topics[:_NAMED]),
        missing=facts.missing_for_writers[:_NAMED],
        groups=facts.groups,
        read_again={group: records for group, records in ranked[:_NAMED] if records},
    )


@dataclass(frozen=True)
class Card:
    """Who is active, where applications connect, what is missing, what to do next."""

    title: str
    facts: tuple[tuple[str, str], ...]
    next: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "facts": dict(self.facts), "next": list(self.next)}

    def markdown(self) -> str:
        """As a message for an incident channel."""
        lines = [f"**{self.title}**", "", *(f"- {name}: {says}" for name, says in self.facts)]
        if self.next:
            lines += ["", "Next:", *(f"{number}. {step}" for number, step in enumerate(self.next, 1))]
        return "\n".join(lines) + "\n"


def card_of(switch: Switch) -> Card | None:
    """Return the card of a switch that has ended; None while it runs and for switches of older versions."""
    kept = switch.claim.options.get("card")
    if switch.end is None or kept is None:
        return None
    known = CardFacts.model_validate(kept)
    link = LinkName.parse(switch.claim.link)
    active = switch.state.active if switch.state else link.source
    old = link.source if active == link.target else link.target
    title = f"{active} is active: {switch_name(switch.claim.command)} of {link} {switch.end.outcome}"
    if switch.end.outcome != "done":
        return Card(title, (("Active side", active),), (f"`twinlog switch status '{link}'`",))
    return Card(title, tuple(_facts(switch, known, link, active, old)), tuple(_next(switch, known, link, active, old)))


def _facts(switch: Switch, known: CardFacts, link: LinkName, active: str, old: str) -> list[tuple[str, str]]:
    more = known.read_count - len(known.read)
    tail = f" and {more} more" if more > 0 else ""
    facts = [
        ("Connect to", known.bootstrap.get(active, "unknown")),
        ("Read from", f"{', '.join(known.read) or 'no topic'}{tail}"),
        ("Write to", f"{', '.join(known.write) or 'no topic'}{tail}"),
    ]
    if known.missing:
        facts.append(("Missing for producers", ", ".join(known.missing)))
    places = [f"{group} {continues(records)}" for group, records in known.read_again.items()]
    facts.append(("Consumer groups", "; ".join([f"{known.groups} moved", *(places or ["nothing is read again"])])))
    if (loss := switch.facts(Loss)) is not None:
        told = LossRange(loss.records, loss.at_most, loss.known_at_ms, loss.copied_ms)
        facts.append(("Not copied", told.says(link.source)))
    facts.append(("Old side", _old_side(switch, old)))
    return facts


def _old_side(switch: Switch, old: str) -> str:
    """Whether producers can still reach it."""
    pending = switch.state.fence_on_return if switch.state else {}
    if old in pending:
        return f"{old} did not answer; its producers are shut out as soon as it answers and a Twinlog service runs"
    later = switch.facts(Resumed) or switch.facts(Reversed)  # the link may write there again, and who else with it
    if later is not None and later.old_side:
        return f"{old}: {later.old_side}"
    fences = [step for name, step in switch.steps.items() if name.startswith("fence") and step.status == "done"]
    if fences:
        return f"producers of {old} are shut out"
    return f"it is not known whether producers can still write to {old}"


def _next(switch: Switch, known: CardFacts, link: LinkName, active: str, old: str) -> list[str]:
    steps = []
    if known.missing:
        steps.append(f"Create the missing topics: `twinlog link prepare '{link}'`")
    if not (switch.facts(Redirected) or Redirected()).called:  # no hook did it
        steps.append(f"Point producers and consumers to {known.bootstrap.get(active, active)}")
    steps.append(f"Check the course: `twinlog switch status '{link}'`")
    if active == link.target:
        when = "To move back" if switch.claim.command == "failover-planned" else f"When {old} is back"
        steps.append(f"{when}: `twinlog failback '{link}' --dry-run`")
    else:
        steps.append(f"Prove that both sides are equal: `twinlog verify '{link}'`")
    return steps
