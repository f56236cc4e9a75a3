"""Questions to nodes after a power cut, and the answers that they must give."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from chaos.errors import OperatorError

# Waits for a condition by asking again and again.
#
# A question is never broken off: it is asked in a thread, which would go on beside the next
# question.


_WITHIN_S = 30.0
_ASKS_EVERY_S = 0.1


async def until(done: Callable[[], Awaitable[bool]], what: str) -> None:
    """Raises OperatorError if the condition does not become true."""
    if not await comes_true(done, within_s=_WITHIN_S):
        raise OperatorError(f"timed out after {_WITHIN_S:g} s waiting for {what}")


async def comes_true(done: Callable[[], Awaitable[bool]], *, within_s: float) -> bool:
    """Asks at least once."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not (true := await done()) and loop.time() < deadline:
        await asyncio.sleep(_ASKS_EVERY_S)
    return true


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`rests_on`: the logs from which the answer is read, "orders-0", or "orders" for all of a
    topic.

    `settles_within_s`: a broker answers from its image of the metadata, which follows its log; an
    answer counts as changed only if it still differs after this time.
    """

    text: str
    rests_on: tuple[str, ...]
    ask: Callable[[], Awaitable[str]]
    settles_within_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """An answer that a node has promised to give. Not `promised`: it may be lost with the page
    cache.

    `now`: it would give this answer before the cut, too.
    """

    question: Question
    value: str
    promised: bool
    now: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """The answer after the start, beside the one acknowledged before the cut."""

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
        """Whether a promised answer has changed."""
        return self.changed and self.promised


async def asked(expected: Sequence[Acknowledgement]) -> list[ComparedAnswer]:
    """All answers, in order; a node that does not answer has not kept its promise."""
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


def told_of(values: Sequence[bytes]) -> str:
    """The answer that these records are."""
    return f"{len(values)} (checksum {zlib.crc32(b''.join(values)):08x})"
