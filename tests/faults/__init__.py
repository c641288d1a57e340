"""The fault matrix: real clusters, real mirrors, one fault after another, and a page of what happened.

    __main__.py   make faults: which faults, in which order       site.py         a cluster and its second listener
    sandbox.py    tools, and the namespaces that hold a run       mirrors.py      Twinlog and MirrorMaker 2 as processes
    stage.py      clusters and mirrors, kept between faults       eye.py          asks `twinlog status` all the time
    scene.py      one fault: load, injection, end, judgement      witness.py      sees records arrive on the target
    scenario.py   what a fault is, and the list of all            page.py, row.py bench/results/DATE-faults.md
    machine.py    how much of the machine others used            naming.py       whether status told the true cause

The faults themselves are in one file per family: brokers.py, network.py, …
"""
