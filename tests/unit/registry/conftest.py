"""Answers that were recorded from a Confluent registry are no part of the repository: they are played where they are.

`TWINLOG_REGISTRY_RECORDED` names their folder; without it, it is looked for beside the repository.
"""

from tests.unit.registry.recorded import FOLDER

collect_ignore = [] if FOLDER.is_dir() else ["test_recorded_answers.py"]
