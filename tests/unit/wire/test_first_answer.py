"""Several addresses are asked until one answers; the rules as properties."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.errors import AccessDenied, BrokerAway
from twinlog.wire.first_answer import NobodyAnswers, first_to_answer

MOMENT_S = 0.002


class Address:
    """Answers, refuses, or says nothing until it is given up."""

    def __init__(self, does: str) -> None:
        self.does = does
        self.asked = self.given_up = False

    async def __call__(self) -> Address:
        self.asked = True
        if self.does == "refuses":
            raise BrokerAway.at("east", "there", "connection refused")
        if self.does == "silent":
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.given_up = True
                raise
        return self


def ask(addresses: list[Address]) -> Address:
    return asyncio.run(first_to_answer({str(number): one for number, one in enumerate(addresses)}, MOMENT_S))


@given(st.lists(st.sampled_from(["refuses", "silent"]), max_size=5), st.lists(st.sampled_from(["refuses"]), max_size=2))
def test_the_first_address_that_answers_is_taken_and_the_silent_ones_are_given_up(
    before: list[str], behind: list[str]
) -> None:
    addresses = [Address(does) for does in (*before, "answers", *behind)]
    assert ask(addresses) is addresses[len(before)]
    assert all(one.given_up for one in addresses if one.does == "silent")


def test_who_answers_at_once_is_the_only_one_that_is_asked() -> None:
    addresses = [Address("answers"), Address("answers")]
    assert ask(addresses) is addresses[0]
    assert not addresses[1].asked


def test_all_problems_are_told_in_order_when_nobody_answers() -> None:
    with pytest.raises(NobodyAnswers) as caught:
        ask([Address("refuses"), Address("refuses")])
    assert caught.value.problems == ["0: connection refused", "1: connection refused"]


def test_a_login_that_is_refused_is_told_at_once() -> None:
    async def refused() -> Address:
        raise AccessDenied("east", "wrong password")

    silent = Address("silent")
    attempts: dict[str, Callable[[], Awaitable[Address]]] = {"a": silent, "b": refused}
    with pytest.raises(AccessDenied):
        asyncio.run(first_to_answer(attempts, MOMENT_S))
    assert silent.given_up
