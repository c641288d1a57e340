"""One answer for all who ask."""

from __future__ import annotations

import asyncio
import threading

import pytest

from twinlog.surface.rest.shelf import Shelf


def test_many_readers_have_an_answer_made_once_until_something_new_is_seen() -> None:
    turn, made = 0, 0
    begun, go_on = threading.Event(), threading.Event()

    def make() -> bytes:
        nonlocal made
        made += 1
        begun.set()
        assert go_on.wait(10)
        return b"%d" % made

    async def ask() -> None:
        nonlocal turn
        shelf = Shelf(lambda: turn)
        readers = [asyncio.create_task(shelf.get("a", make)) for _ in range(20)]
        await asyncio.to_thread(begun.wait, 10)
        readers[0].cancel()  # the one who began goes away; the others still get it
        go_on.set()
        answers = await asyncio.gather(*readers, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert answers[1:] == [b"1"] * 19
        assert await shelf.get("b", make) == b"2"
        turn += 1
        assert await shelf.get("a", make) == b"3"

    asyncio.run(ask())


def test_an_answer_that_failed_is_not_kept() -> None:
    answers = iter([RuntimeError("no"), None])

    def make() -> bytes:
        found = next(answers)
        if found is not None:
            raise found
        return b"well"

    async def ask() -> None:
        shelf = Shelf(lambda: 0)
        with pytest.raises(RuntimeError, match="no"):
            await shelf.get("a", make)
        assert await shelf.get("a", make) == b"well"

    asyncio.run(ask())


def test_what_is_asked_differently_each_time_does_not_fill_the_memory() -> None:
    async def ask() -> None:
        shelf = Shelf(lambda: 0)
        for number in range(200):
            await shelf.get(number, lambda: b"")
        assert len(shelf._kept) <= 32

    asyncio.run(ask())
