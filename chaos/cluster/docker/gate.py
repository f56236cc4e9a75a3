"""Work that runs in threads, and the moment when no more of it may begin.

A cancelled task leaves its thread running; what that thread still creates must not be created
behind the back of the thread that removes everything.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from chaos.cluster.cluster_errors import ClusterError

P = ParamSpec("P")
T = TypeVar("T")
DRAINED_WITHIN_S = 60.0


class Gate:
    """Counts the threads at work, and closes once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    async def run(self, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run in a thread; ClusterError once the gate is closed."""

        def inside() -> T:
            self._enter()
            try:
                return act(*args, **kwargs)
            finally:
                self._leave()

        return await asyncio.to_thread(inside)

    def close(self) -> None:
        """Let no thread in any more, and wait until all are out."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside == 0, DRAINED_WITHIN_S)

    def _enter(self) -> None:
        with self._changed:
            if self._closed:
                raise ClusterError("the cluster is being removed")
            self._inside += 1

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()
