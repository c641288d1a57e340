"""How a switch is shown: its plan, what is at risk, its course and its report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.counted import counted
from twinlog.surface.cli.output import Output, print_facts, screen
from twinlog.surface.cli.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinlog.model.switch.log import Switch
    from twinlog.model.switch.plan import Facts, Plan
    from twinlog.recovery.report import Report
    from twinlog.recovery.switching import Standing

_STATUS = {"done": "green", "failed": "red", "begun": "yellow"}


def name_of(command: str) -> str:
    """Say which switch it is, as people do; the rules of the switch are loaded when they are needed."""
    from twinlog.model.switch.log import switch_name

    return switch_name(command)


def print_plan(facts: Facts, plan: Plan, output: Output) -> None:
    """What will be done, and what is at stake."""
    if output.for_programs:
        from twinlog.surface.answers.switches import plan_answer

        print_facts(plan_answer(facts, plan).model_dump(), output)
        return
    console = screen(output)
    console.print(
        Text(f"{name_of(plan.command)} of {plan.link}: {facts.active} is active, {facts.new_active} will be", "bold")
    )
    table = Table()
    for title in ("step", "what", "changes", "at risk"):
        table.add_column(title, overflow="fold")
    for step in plan.steps:
        lasting = "" if step.reversible else " (cannot be undone)"
        table.add_row(step.id, step.title, step.changes + lasting, step.risk)
    console.print(table)
    print_risk(console, plan)


def print_risk(console: Console, plan: Plan) -> None:
    """What the operator puts at stake, in numbers; unknown is said, never shown as 0."""
    risk = plan.at_risk
    behind = number(risk.seconds, " s")
    records = number(risk.records) if not risk.is_range else f"{number(risk.records)}..{number(risk.at_most)}"
    size = number(None if risk.bytes is None else risk.bytes / 1e6, " MB")
    moved = f"{records} record{'' if records == '1' else 's'}, {size}, {behind}"
    groups = "no group moves" if not risk.groups else f"{counted(risk.groups, 'group')} to move"
    console.print(Text("at risk: ", "bold").append(f"{moved}; {groups}"))
    if risk.known_at_ms is not None:
        when = time.strftime("%H:%M:%S", time.localtime(risk.known_at_ms / 1000))
        console.print(f"  known at {when}; what was written later is not known", soft_wrap=True)
    for sentence in risk.sentences:
        console.print(f"  {sentence}", soft_wrap=True)
    for topic in plan.wiped:
        console.print(Text(f"  will be deleted: {topic}", "red"))
    for warning in plan.warnings:
        console.print(Text(f"  {warning}", "yellow"), soft_wrap=True)


def print_report(report: Report, output: Output, files: str) -> None:
    """What happened."""
    if output.for_programs:
        print_facts({**report.as_json(), "folder": files}, output)
        return
    console = screen(output)
    rto = "not reached" if report.rto_ms is None else f"{report.rto_ms / 1000:.1f} s"
    stopped = report.writes_stopped_ms
    outage = "" if stopped is None else f", producers could not write for {stopped / 1000:.1f} s"
    console.print(
        Text(f"{name_of(report.command)} {report.switch}: {report.outcome}; ", "bold").append(
            f"{report.active} is active, recovery time {rto}{outage}"
        )
    )
    table = Table()
    for title in ("step", "status", "seconds", "what"):
        table.add_column(title, overflow="fold", justify="right" if title == "seconds" else "left")
    for step in report.steps:
        status = Text(str(step["status"]), _STATUS.get(str(step["status"]), ""))
        table.add_row(str(step["step"]), status, f"{step['took_ms'] / 1000:.1f}", str(step["says"]))
        for finding in step["findings"]:
            table.add_row("", "", "", Text(str(finding), "yellow"))
    console.print(table)
    console.print(f"journal and report: {files}", soft_wrap=True)
    _print_card(console, report)


def _print_card(console: Console, report: Report) -> None:
    """What application teams must know, and the next commands."""
    if not report.card:
        return
    console.print()
    console.print(Text(str(report.card["title"]), "bold green"), soft_wrap=True)
    for name, says in report.card["facts"].items():
        console.print(Text(f"  {name}: ", "bold").append(str(says), ""), soft_wrap=True)
    for number_of_step, step in enumerate(report.card["next"], 1):
        console.print(f"  {number_of_step}. {step}", soft_wrap=True, highlight=False)
    console.print(f"  As Markdown for the incident channel: {report.switch}.md", soft_wrap=True, highlight=False)


def print_standing(link: str, standing: Standing, output: Output) -> None:
    """Who is active, what is open, what was done."""
    from twinlog.recovery.switching import reports

    state = standing.state
    if output.for_programs:
        from twinlog.surface.answers.switches import standing_answer

        print_facts({"link": link, **standing_answer(standing).model_dump()}, output)
        return
    console = screen(output)
    if state is None:
        console.print(f"{link}: there never was a switch; the source is active", soft_wrap=True)
    else:
        console.print(f"{link}: {state.active} is active ({state.why})", soft_wrap=True)
        for name, mode in state.links.items():
            console.print(f"  {name}: {mode}", soft_wrap=True)
        for cluster, means in state.fence_on_return.items():
            shut = f"came back, and its producers are shut out ({means})"
            later = f"its producers are shut out as soon as it answers ({means})"
            console.print(Text(f"  {cluster}: {shut if cluster in standing.closed else later}", "yellow"))
    for report in reports(standing):
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(report.began_ms / 1000))
        last = report.steps[-1] if report.steps else {"step": "-", "status": "-"}
        console.print(
            f"  {when} {name_of(report.command)} by {report.operator}: {report.outcome}, last step {last['step']} "
            f"({last['status']})",
            soft_wrap=True,
        )
        if report.outcome == "open" and standing.open is not None:
            for line in _running(link, standing.open, SYSTEM_CLOCK.now_ms()):
                console.print(Text(f"    {line}", "yellow"), soft_wrap=True)


def _running(link: str, switch: Switch, now_ms: int) -> Iterator[str]:
    """How far an open switch is, whether its process lives, and what may be done about it."""
    number, steps, title = switch.progress
    doing = f": {switch.saying}" if switch.saying else ""
    to_come = f"; to come: {', '.join(switch.to_come)}" if switch.to_come else ""
    yield f"step {number} of {steps}: {title}{doing}{to_come}"
    silent = max(0, now_ms - switch.seen_ms) / 1000
    where = f"its process on {switch.claim.host}"
    if switch.runner_lives(now_ms):
        yield f"{where} was heard {silent:.0f} s ago: it runs"
    else:
        ways = f"`twinlog switch resume '{link}'`, or `twinlog switch abort '{link}'`"
        yield f"{where} is silent for {silent:.0f} s: {ways}"
