"""Commits a transaction, and asks until its coordinator reports it as committed.

The coordinator answers a commit once it has decided it. Then it writes a marker to every partition,
and at last records that all have theirs (KIP-98): a client that has seen that knows that nothing is
left to do.
"""

import asyncio
from collections.abc import Callable

from workloads.transaction_calls import TransactionCalls
from workloads.wire.produce import ProducerId

_PAUSE_S = 0.2


async def commit_whole(
    calls: TransactionCalls, owner: str, producer: ProducerId, goes_on: Callable[[], bool]
) -> bool:
    """Commit what `producer` has open under the transactional id `owner`; returns whether that was
    completed while `goes_on`."""
    while goes_on():
        if await calls.commit(owner, producer):
            break
        await asyncio.sleep(_PAUSE_S)
    while goes_on():
        if await calls.is_committed(owner):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False
