"""`python -m tests.faults`: run the fault matrix, or a part of it, and write bench/results/DATE-faults.md."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path

from bench.report import RESULTS
from tests.faults import sandbox
from tests.faults.page import Page, commit
from tests.faults.proofs import run_proof
from tests.faults.row import Cost, Row
from tests.faults.scenario import Scenario, all_scenarios
from tests.faults.scene import Scene
from tests.faults.stage import OLD_KAFKA, Stage

from twinlog.local.jars import CONNECT_MIRROR, KAFKA, kafka_jars, resolve

_AT_MOST_S = 600
"""A fault that takes longer is given up; the next one gets new clusters."""
KEPT = Path(".state/faults")
"""What was said while a goal was missed, by fault."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="NAME", help="a family or a fault; default: all of today's rest")
    parser.add_argument("--list", action="store_true", help="list the faults and end")
    parser.add_argument("--again", action="store_true", help="repeat faults that have a row of this commit already")
    parser.add_argument("--red", action="store_true", help="only faults whose last row missed a goal")
    parser.add_argument("--into", type=Path, default=RESULTS, help="the folder of the page")
    parser.add_argument("--brokers", type=int, default=3, help="of each cluster; with fewer than 3 rows prove little")
    parser.add_argument("--alone", action="store_true", help="without MirrorMaker 2 beside")
    chosen = parser.parse_args()
    scenarios = all_scenarios()
    if chosen.list:
        for one in scenarios:
            print(f"{one.family:10} {one.key:32} {one.title}")
        return 0
    page = Page(chosen.into)
    under_test = os.environ.setdefault("TWINLOG_FAULTS_COMMIT", commit())
    wanted = _wanted(scenarios, chosen, page, under_test)
    if not wanted:
        print("nothing is left to do: every fault chosen has a row of this commit today (AGAIN=1 repeats them)")
        return _verdict(page, {one.key for one in scenarios})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not sandbox.inside():
        return _prepare(wanted)
    sandbox.arrange()
    signal.signal(signal.SIGALRM, _took_too_long)
    with tempfile.TemporaryDirectory(prefix="tl", ignore_cleanup_errors=True) as folder:
        os.environ["TWINLOG_HOME"] = str(Path(folder, "home"))
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        _run(wanted, scenarios, page, under_test, peer=not chosen.alone, brokers=chosen.brokers)
    return _verdict(page, {one.key for one in wanted})


def _took_too_long(*_: object) -> None:
    raise TimeoutError(f"it did not end within {_AT_MOST_S} s")


def _wanted(scenarios: list[Scenario], chosen: argparse.Namespace, page: Page, under_test: str) -> list[Scenario]:
    unknown = set(chosen.only) - {name for one in scenarios for name in (one.key, one.family)}
    if unknown:
        sys.exit(f"no such fault or family: {', '.join(sorted(unknown))}; --list tells what there is")
    wanted = [one for one in scenarios if not chosen.only or {one.key, one.family} & set(chosen.only)]
    rows = {row.key: row for row in page.rows()}
    if chosen.red:
        return [one for one in wanted if one.key in rows and not rows[one.key].green]
    if chosen.again or chosen.only:
        return wanted
    return [one for one in wanted if one.key not in rows or rows[one.key].commit != under_test]


def _prepare(wanted: list[Scenario]) -> int:
    """Everything that needs the outer world: programs, jars. Then the run itself, cut off from it."""
    tools = {"ip", *(tool for one in wanted for tool in one.tools)}
    missing = sandbox.missing_tools(sorted(tools))
    if missing:
        print(f"cannot inject faults here: {', '.join(missing)} cannot be found, and apt-get could not install them")
        return 3
    reason = sandbox.why_not()
    if reason:
        print(f"cannot make network, process and mount namespaces here ({reason}); run as root on Linux")
        return 3
    old = [kafka_jars(OLD_KAFKA)] if any(one.sites == "old" for one in wanted) else []
    for jars in (KAFKA, CONNECT_MIRROR, *old):
        resolve(jars)
    return sandbox.enter(sys.argv[1:])


def _run(
    wanted: list[Scenario], scenarios: list[Scenario], page: Page, under_test: str, *, peer: bool, brokers: int
) -> None:
    order = [one.key for one in scenarios]
    stage: Stage | None = None
    # Faults that need the same clusters come together; tests of the project come last.
    wanted = sorted(wanted, key=lambda one: (bool(one.tests), one.sites != "plain", one.sites))
    for number, one in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {time.strftime('%H:%M:%S')} {one.family}: {one.title}", flush=True)
        began = time.monotonic()
        try:
            if one.tests:
                page.add(row := run_proof(one, under_test), order)
                _tell(row)
                continue
            if stage is not None and stage.kind != one.sites:
                stage.close()
                stage = None
            if stage is None:
                stage = Stage(one.sites, brokers)
            signal.alarm(_AT_MOST_S)
            row = Scene(stage, one if peer else replace(one, peer=False), number).run(under_test)
        except Exception as error:  # noqa: BLE001 - the next fault is run whatever happened to this one
            traceback.print_exc()
            row = _broken(one, under_test, error, time.monotonic() - began)
        finally:
            signal.alarm(0)
        page.add(row, order)
        _tell(row)
        stage = _ready(stage, row, one)
    if stage is not None:
        stage.close()


def _ready(stage: Stage | None, row: Row, one: Scenario) -> Stage | None:
    """What the next fault may use: all of it, or new mirrors, or new clusters."""
    if stage is None:
        return None
    try:
        if not row.green:
            stage.keep(KEPT / one.key)
        if row.twinlog.goes_on_s is None or not row.twinlog.sound:
            stage.close()
            return None
        stage.heal()
        if one.spoils or not row.green:
            stage.close_mirrors()
        elif row.peer is not None and row.peer.goes_on_s is None:
            stage.restart_peer()
    except Exception:  # noqa: BLE001 - clusters that do not heal are thrown away
        traceback.print_exc()
        stage.close()
        return None
    return stage


def _broken(one: Scenario, under_test: str, error: Exception, took_s: float) -> Row:
    return Row(
        key=one.key,
        family=one.family,
        matrix=list(one.matrix),
        title=one.title,
        done=one.done,
        twinlog=Cost(),
        peer=None,
        said="",
        named_s=None,
        missed=[f"the run of this fault broke: {error!s:.500}"],
        commit=under_test,
        at=time.strftime("%H:%M:%S"),
        took_s=round(took_s, 1),
    )


def _tell(row: Row) -> None:
    for name, cost in (("Twinlog", row.twinlog), ("MirrorMaker 2", row.peer)):
        if cost is not None:
            print(
                f"    {name}: {cost.records} records, {cost.lost} lost, {cost.doubled} doubled, {cost.reordered} "
                f"reordered, {cost.changed} changed, stood still {cost.stood_still_s}, goes on {cost.goes_on_s}",
                flush=True,
            )
    print(f"    status ({row.named_s}): {row.said}", flush=True)
    for note in row.notes:
        print(f"    note: {note}", flush=True)
    print(f"    {'ok' if row.green else 'MISSED: ' + '; '.join(row.missed)} ({row.took_s:.0f} s)", flush=True)


def _verdict(page: Page, keys: set[str]) -> int:
    red = [row for row in page.rows() if row.key in keys and not row.green]
    print(f"\n{len(red)} faults missed a goal; the page is {page.file}" if red else f"\nall well; see {page.file}")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
