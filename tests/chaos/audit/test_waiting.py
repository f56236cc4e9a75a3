"""Waiting for a condition: one question at a time, and none broken off."""

import asyncio

import pytest

from chaos.errors import OperatorError
from chaos.labs.audit import moment
from chaos.labs.audit.moment import comes_true, until


def test_it_is_asked_until_it_is_true() -> None:
    told = iter([False, False, True])

    async def done() -> bool:
        return next(told)

    assert asyncio.run(comes_true(done, within_s=60.0))
    assert list(told) == []


def test_a_slow_question_is_not_broken_off_when_the_time_is_over() -> None:
    ended = 0

    async def done() -> bool:
        nonlocal ended
        await asyncio.sleep(0.01)
        ended += 1
        return False

    assert not asyncio.run(comes_true(done, within_s=0.0))
    assert ended == 1


def test_what_never_comes_true_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment, "_WITHIN_S", 0.0)

    async def never() -> bool:
        return False

    with pytest.raises(OperatorError, match="waiting for a snapshot"):
        asyncio.run(until(never, "a snapshot"))
