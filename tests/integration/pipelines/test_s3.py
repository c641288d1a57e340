"""The object store sink on servers that speak S3: the same names, each record once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.fs
import pytest
from tests.kit.object_store import P0, batch_of
from tests.kit.s3_servers import s3_server

from twinlog.pipelines.api import Owner, Retriable, Superseded
from twinlog.pipelines.plugins import connector

CLASS = "io.confluent.connect.s3.S3SinkConnector"


@pytest.fixture(scope="module", params=["moto", pytest.param("gofakes3", marks=pytest.mark.chaos)])
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    with s3_server(request.param) as url:
        yield url


def sink_of(endpoint: str, **config: str) -> Any:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    own = {"store.url": endpoint, "s3.bucket.name": "lake", "s3.region": "us-east-1", "aws.access.key.id": "k",
           "aws.secret.access.key": "s", "flush.size": "3", **keys}  # fmt: skip
    return connector(CLASS, own)


def contents(endpoint: str, folder: str) -> dict[str, bytes]:
    store: Any = pyarrow.fs.S3FileSystem(access_key="k", secret_key="s", region="us-east-1", scheme="http",
                                         endpoint_override=endpoint.removeprefix("http://"))  # fmt: skip
    found: list[Any] = store.get_file_info(pyarrow.fs.FileSelector(f"lake/{folder}", recursive=True))
    return {one.path: store.open_input_stream(one.path).read() for one in found if one.is_file}


@pytest.mark.proves("R30")
def test_files_in_a_bucket_go_on_where_they_were(endpoint: str) -> None:
    sink = sink_of(endpoint, topics_dir="a")
    assert list(sink.check()) == []
    assert sink.open(Owner("lake", 1), [P0]) == {}
    sink.put(batch_of([f'{{"n":{n}}}' for n in range(4)]))
    sink.flush({P0: 4})
    sink.close()
    again = sink_of(endpoint, topics_dir="a")
    assert again.positions("lake") == {P0: 4}
    assert again.open(Owner("lake", 2), [P0]) == {P0: 4}
    with pytest.raises(Superseded):
        sink.open(Owner("lake", 1), [P0])
    again.put(batch_of(['{"n":4}', '{"n":5}'], first=4))
    again.flush({P0: 6})
    assert contents(endpoint, "a") == {
        "lake/a/orders/partition=0/orders+0+0000000000.json": b'{"n":0}\n{"n":1}\n{"n":2}\n',
        "lake/a/orders/partition=0/orders+0+0000000003.json": b'{"n":3}\n{"n":4}\n{"n":5}\n',
    }


def test_a_bucket_that_is_not_there_is_told(endpoint: str) -> None:
    sink = sink_of(endpoint, s3_bucket_name="nowhere")
    assert [one.key for one in sink.check()] == ["store.url"]
    with pytest.raises(Retriable):
        sink.open(Owner("x", 1), [P0])
