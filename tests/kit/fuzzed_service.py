"""The service whose REST interface is fuzzed."""

from __future__ import annotations

from tests.kit.connect_paper import PaperService, PaperTopic
from tests.kit.paper_backend import PaperBackend

from twinlog.surface.http.app_state import AppState

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"


SERVICE = PaperService(
    PaperTopic(),
    text=FILE,
    app_state=lambda audit: AppState.of(PaperBackend(step_seconds=0.01), audit, look_seconds=0.5),
)
