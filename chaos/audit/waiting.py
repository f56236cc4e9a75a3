"""Waiting for a condition, asked again and again.

A question is never broken off: what it asks with is in a thread, and would go on beside the next.
"""

import asyncio
from collections.abc import Awaitable, Callable

from chaos.operator_errors import OperatorError

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
