"""Waiting for a condition on the way to a moment."""

import asyncio
from collections.abc import Awaitable, Callable

from chaos.operator_errors import OperatorError

_WITHIN_S = 30.0
_LOOKS_EVERY_S = 0.1


async def until(done: Callable[[], Awaitable[bool]], what: str) -> None:
    """Raises OperatorError if it does not come true."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            while not await done():
                await asyncio.sleep(_LOOKS_EVERY_S)
    except TimeoutError:
        raise OperatorError(f"waited {_WITHIN_S:g} s in vain for {what}") from None
