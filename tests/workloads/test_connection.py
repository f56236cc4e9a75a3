"""What a connection makes of answers that come when nobody waits any more."""

import asyncio

import pytest

from workloads.connection import Exchange

ANSWER = b"\x00\x00\x00\x08" + b"\x00\x00\x00\x01" + b"body"


class Wire(asyncio.Transport):
    """Takes everything, and brings what a test brings."""

    aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert data

    def abort(self) -> None:
        self.aborted = True


async def asked(*, cancelled: bool) -> tuple[list[str], str | None]:
    """Two answers to one question, of which the task that asked sees one, or is cancelled before
    it runs again: the problems that were told, and why the connection was lost."""
    problems: list[str] = []
    exchange = Exchange()
    exchange.malformed = lambda problem, _: problems.append(problem)
    exchange.connection_made(Wire())
    task = asyncio.ensure_future(exchange.send(b"question", 5.0))
    await asyncio.sleep(0)
    if cancelled:
        task.cancel()
    else:
        exchange.data_received(ANSWER)
    exchange.data_received(ANSWER)
    if cancelled:
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == ANSWER[4:]
    return problems, exchange.lost


def test_the_answer_to_a_request_that_was_cancelled_is_not_malformed() -> None:
    assert asyncio.run(asked(cancelled=True)) == ([], "given up")


def test_a_second_answer_is() -> None:
    problems, lost = asyncio.run(asked(cancelled=False))
    assert problems == ["an answer that was not asked for"]
    assert lost == "malformed: an answer that was not asked for"
