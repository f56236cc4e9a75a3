"""What is asked of nodes after a power cut, and what they must answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from chaos.errors import OperatorError

# Waiting for a condition, asked again and again.
#
# A question is never broken off: what it asks with is in a thread, and would go on beside the next.


_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1


async def until(done: Callable[[], Awaitable[bool]], what: str) -> None:
    """Raises OperatorError if it does not come true."""
    if not await comes_true(done, within_s=_WITHIN_S):
        raise OperatorError(f"waited {_WITHIN_S:g} s in vain for {what}")


async def comes_true(done: Callable[[], Awaitable[bool]], *, within_s: float) -> bool:
    """Asks at least once."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not (true := await done()) and loop.time() < deadline:
        await asyncio.sleep(_ASKS_EVERY_S)
    return true


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rests_on`: the logs that the answer is read from, "orders-0" or all of a topic, "orders".

    `settles_within_s`: a broker answers from its image of the metadata, which follows its log; an
    answer counts as another one only if it still is after so long.
    """

    text: str
    rests_on: tuple[str, ...]
    ask: Callable[[], Awaitable[str]]
    settles_within_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """What a node has said it will answer. Not `promised`: it may be lost with the page cache.

    `now`: it would answer so before the cut, too.
    """

    question: Question
    value: str
    promised: bool
    now: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """What was answered after the start, beside what was acknowledged before the cut."""

    question: str
    rests_on: tuple[str, ...]
    acknowledged: str
    answered: str
    promised: bool

    @property
    def changed(self) -> bool:
        return self.acknowledged != self.answered

    @property
    def broken(self) -> bool:
        """Something else was promised."""
        return self.changed and self.promised


async def asked(expected: Sequence[Acknowledgement]) -> list[ComparedAnswer]:
    """All answers, in order; a node that does not answer has not kept it."""
    return [await _asked(each) for each in expected]


async def _asked(expected: Acknowledgement) -> ComparedAnswer:
    answered = ""

    async def is_kept() -> bool:
        nonlocal answered
        answered = await _answer(expected.question)
        return answered == expected.value

    await comes_true(is_kept, within_s=expected.question.settles_within_s)
    return ComparedAnswer(
        question=expected.question.text,
        rests_on=expected.question.rests_on,
        acknowledged=expected.value,
        answered=answered,
        promised=expected.promised,
    )


async def _answer(question: Question) -> str:
    try:
        return await question.ask()
    except OperatorError as trouble:
        return f"no answer: {trouble}"
