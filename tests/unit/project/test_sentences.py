"""Riddles that operators met once, and the plain sentences in their place: neither comes back nor gets lost."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SENTENCES = [
    ("exact, {} written, {} told", "positions exact)"),
    ("heartbeats {} sent", "arriving, {took:,} ms"),
    ("gets on</th>", "state"),
    ("links are well", "Healthy links"),
    ("Nothing is faulted", "No faults"),
    ("takes writes", "is active"),
    ("what is new there exists once", "has no copy anywhere"),
    ("What needs you", "Action needed"),
    (">Lately<", "Recent events"),
    (">To know<", "Details"),
    ("Choosing rehearses", "only shows the plan. Nothing is changed."),
    ("Where the time of a record goes:", "Latency by stage, p50 and p99"),
    ("Sample, a share", "Sample (0.01 is 1 %)"),
    ("the doctor's word", "readiness checks"),
    (">Examine<", "Run checks"),
    ("Go on with it", "Resume"),
    ("Give it up", "Abort"),
    ("What nobody knows is said to be", 'Unknown values are shown as "unknown", never as 0.'),
    ("and note the cut", "and record the last copied offsets"),
    ("let configs, ACLs and groups rest", "Stop syncing configs, ACLs and groups; keep copying records"),
    ("who we are there is not known", "our principal there is unknown; set switch.principals"),
    ("it is shut first of all", "its topics are closed before anything else"),
    ("comes back half", "even if only part of"),
    ("groups by their last checkpoints, {", "with last synced positions"),
    ("goes on with topics of its own", "copies topics created on"),
    ("there is no hook to call", "No redirect hook configured: move the clients yourself"),
    ("will not be heeded", "so a failover would not be noticed"),
    ("asking who the clusters are", "reading cluster IDs"),
    ("they are written again", "heartbeats: recovered"),
    ("it counts only after", "MirrorMaker 2 reads {name} only with a prefix"),
    ("begun anew", "restarted"),
    ("Mend the file", "Correct the file"),
    ("An ended certificate", "An expired certificate on the target would first be noticed during a failover."),
    ("any tree, mesh or ring", "between any number of clusters"),
    ("even when only frozen", "the first is fenced and cannot write, even after a long pause"),
    ("at most a second too small", "most 1 s old, and a change is visible in the next answer"),
    ("the highest one holds", "the decision with the highest number is valid"),
    ("come home as", "copied back as"),
    ("stand by for each other", "standbys of each other"),
]


@cache
def everything() -> str:
    """Return all that people read, with single blanks."""
    files = [ROOT / "README.md", ROOT / "DESIGN.md", *(ROOT / "docs").rglob("*.md")]
    files += [path for path in (ROOT / "src").rglob("*") if path.suffix in {".py", ".html", ".js"}]
    return " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in files)


@pytest.mark.parametrize(("riddle", "plain"), SENTENCES, ids=[plain[:40] for _, plain in SENTENCES])
def test_a_riddle_stays_rewritten(riddle: str, plain: str) -> None:
    assert riddle.casefold() not in everything().casefold()
    assert plain in everything()
