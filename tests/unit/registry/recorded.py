"""Where recorded answers of a Confluent registry are."""

import os
from pathlib import Path

_BESIDE = Path(__file__).parents[3].parent / "shared" / "golden"
FOLDER = Path(os.environ.get("TWINLOG_REGISTRY_RECORDED", _BESIDE))
