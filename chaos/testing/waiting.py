"""Waiting for async work from anywhere, without leaving it half done when the waiting ends."""

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from chaos.errors import UsageError

_ENDED_BY = (signal.SIGTERM, signal.SIGHUP)

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread; usable within its block."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        started = threading.Event()

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._closing = asyncio.Event()
            started.set()
            await self._closing.wait()

        self._thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        self._thread.start()
        started.wait()

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._thread = None

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result; it is cancelled when the waiting is interrupted."""
        if self._thread is None:
            work.close()
            raise UsageError("the cluster is not up any more\n  try: within its `with` block")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result; interruptions wait until it has one."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        interrupted: KeyboardInterrupt | None = None
        while not future.done():
            try:
                future.exception()
            except KeyboardInterrupt as error:
                interrupted = error
        if interrupted is not None and future.exception() is None:
            raise interrupted
        return future.result()


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP, unless somebody handles them, be as Ctrl-C within the block: they
    would end the process with its containers running. Python hears signals in its main thread only.
    """
    handled: list[signal.Signals] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    if threading.current_thread() is threading.main_thread():
        for number in _ENDED_BY:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, interrupt)
                handled.append(number)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
