"""Whether schemas may be copied onto what the target has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twinlog.registry.pair.home import Home
from twinlog.registry.pair.index import TopicIndex
from twinlog.sync.registry_copy import why_not

LINK: Any = SimpleNamespace(source="A", target="B")


@pytest.mark.parametrize(
    ("home", "copy", "may"),
    [
        (None, None, True),
        (None, Home("id-of-A", 0), True),  # claimed by this link; the source's own record comes later
        (Home("id-of-A", 0), Home("id-of-A", 0), True),
        (Home("id-of-A", 2), Home("id-of-B", 1), True),
        (None, Home("id-of-C", 0), False),  # a copy of another cluster's schemas
        (Home("id-of-A", 0), Home("id-of-B", 1), False),  # promoted
        (None, Home("id-of-B", 1), False),
    ],
)
@pytest.mark.parametrize("is_own", [True, False])
def test_the_home_in_the_copy_decides(home: Home | None, copy: Home | None, may: bool, is_own: bool) -> None:
    here, there = TopicIndex(home=home), TopicIndex(home=copy)
    assert (why_not(LINK, here, there, "id-of-A", is_own=is_own) is None) == may
