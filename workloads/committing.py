"""Commits a transaction, and asks until its coordinator calls it committed.

A commit is answered when the coordinator has decided it. It tells every partition then, and notes
at last that all were told (KIP-98): whoever has seen that knows that nothing is left to be done.
"""

import asyncio
from collections.abc import Callable

from workloads.transaction_calls import TransactionCalls
from workloads.wire.produce import ProducerId

_PAUSE_S = 0.2


async def commit_whole(
    calls: TransactionCalls, owner: str, producer: ProducerId, goes_on: Callable[[], bool]
) -> bool:
    """What `producer` has open under the transactional id `owner`; whether it came to that while
    it went on."""
    while goes_on():
        if await calls.commit(owner, producer):
            break
        await asyncio.sleep(_PAUSE_S)
    while goes_on():
        if await calls.is_committed(owner):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False
