"""One shape per answer: what the command line prints for programs is what /v1 answers."""

from __future__ import annotations

import asyncio

from tests.kit.paper_backend import PaperBackend

from twinlog.errors import ClusterUnreachable
from twinlog.surface.answers.links import LinkDetail, detail_of
from twinlog.surface.answers.rows import PartitionRow
from twinlog.surface.answers.status import status_of
from twinlog.watch.monitor import LinkSnapshot


def test_status_prints_what_v1_answers_with_the_partitions() -> None:
    backend = PaperBackend()
    link = next(one for one in backend.links() if one.name == "east->west")
    seen = asyncio.run(backend.observer(link).look())
    printed = status_of(link, seen).model_dump()
    snapshot = LinkSnapshot(link, backend.observer(link), status=seen, looked_ms=seen.now_ms)
    answered = detail_of(snapshot).model_dump()
    assert printed.keys() - answered.keys() == {"partition_list"}
    assert {key: value for key, value in printed.items() if key in answered and key != "movement"} == {
        key: value for key, value in answered.items() if key != "movement"
    }
    assert printed["movement"] is None, "one look does not tell whether anything moves"
    assert printed["faults"] == len(printed["fault_list"]) > 0
    assert len(printed["partition_list"]) == printed["partitions"]
    assert printed["partition_list"][0].keys() == PartitionRow.model_fields.keys()


def test_a_link_that_cannot_be_seen_has_the_same_shape() -> None:
    link = PaperBackend().links()[0]
    printed = status_of(link, ClusterUnreachable("west", "no broker answers")).model_dump()
    assert printed.keys() - {"partition_list"} == LinkDetail.model_fields.keys()
    assert (printed["state"], printed["lag_records"], printed["partition_list"]) == ("UNKNOWN", None, [])
    assert "no broker answers" in printed["trouble"]
    assert printed["remedy"]
