"""An event loop in which time is a number: it jumps to the next timer when nothing is left to do.

No selector, no sockets, no threads. Ordinary asyncio code (tasks, time-outs, queues) runs on it
unchanged and, as long as it asks the loop for the time, alike in every process: callbacks of one
moment run in the order in which they were asked for, and sets of tasks are walked in the order of
the tasks' numbers. What would touch the machine raises `NotSimulatedError`.
"""

import asyncio
import contextvars
import itertools
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

START_S = 1000.0  # what `time()` says first: a fixed number, as no code may depend on it
_MOST_TURNS = 100_000

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class DeadlockError(Exception):
    """All tasks wait for each other: no callback is ready and no timer is set."""


class StandstillError(Exception):
    """Callbacks schedule each other for ever, and time does not advance."""


class NotSimulatedError(Exception):
    """Code on a virtual loop asked for sockets, threads, processes or files of the machine."""


class Internet(Protocol):
    """Where `create_connection` leads."""

    async def dial(self, protocol: asyncio.BaseProtocol, host: str, port: int) -> asyncio.Transport:
        """Raises OSError where nothing listens; may take for ever."""


class _Timer(asyncio.TimerHandle):
    """As asyncio's, but for what that does in a loop that is debugged. Most are called off."""

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context | None,
    ) -> None:
        self._when = when
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = contextvars.copy_context() if context is None else context
        self._cancelled = self._scheduled = False
        self._source_traceback = self._repr = None

    def cancel(self) -> None:
        """The loop drops it when it is due; what it would have called is let go of at once."""
        self._cancelled = True
        self._callback, self._args = _nothing, ()


def _nothing() -> None:
    """What a timer calls that was called off."""


class _Task(asyncio.Task[T]):
    """Hashed by its number: asyncio keeps tasks in sets, and cancels them in the sets' order."""

    _numbers = itertools.count()

    def __init__(self, coroutine: Coroutine[Any, Any, T], **options: Any) -> None:
        self._number = next(_Task._numbers)
        super().__init__(coroutine, **options)

    def __hash__(self) -> int:
        return self._number


# A callback that is never cancelled; if it raises, the run ends.
_Due = partial[object]


class VirtualLoop(asyncio.BaseEventLoop):
    """`internet` serves its connections; without one there are none to be had."""

    def __init__(self, internet: Internet | None = None) -> None:
        super().__init__()
        self.internet = internet
        self.now = START_S  # what `time` tells
        self.elapsed_ns = 0  # virtual time since the loop was made
        self._timers: list[tuple[float, int, asyncio.TimerHandle | _Due]] = []  # a heap
        self._order = itertools.count()
        self._signals: deque[int] = deque()
        self._handlers: dict[int, asyncio.Handle] = {}
        self._turns = 0  # since time went on
        self._ready: deque[asyncio.Handle | _Due]
        self._stopping: bool
        _Task._numbers = itertools.count()
        self.set_task_factory(lambda loop, made, **options: _Task(made, loop=loop, **options))

    def time(self) -> float:
        return self.now

    def when_ns(self, elapsed_ns: int) -> float:
        """`time()` when so much will have elapsed: what `call_at` wants."""
        return START_S + elapsed_ns / 1e9

    def at(self, when: float, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """`call_at` for good: the simulator's parts ask so often that a handle costs too much."""
        heappush(self._timers, (when, next(self._order), partial(callback, *args)))

    def soon(self, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """`call_soon` for good."""
        self._ready.append(partial(callback, *args))

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """As asyncio's, but for what that does in a loop that is debugged."""
        if self.is_closed():
            raise RuntimeError("the loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Timers of one moment fire in the order in which they were set."""
        timer = _Timer(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._order), timer))
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """There is one thread; asyncio's own SIGINT handler asks in this way."""
        return self.call_soon(callback, *args, context=context)

    def _run_once(self) -> None:
        """Turns, until it is to stop: asyncio asks for one, and looks whether it is, in between.

        A turn is what is ready now, or what the next moment brings. All in one place: nothing of
        the simulator is done more often.
        """
        ready, timers = self._ready, self._timers
        while True:
            if self._signals:
                self._hear_signals()
            if ready or self._stopping:
                self._turns += 1
                if self._turns > _MOST_TURNS:
                    self._stand_still()
                for _ in range(len(ready)):
                    handle = ready.popleft()
                    if isinstance(handle, partial):
                        handle()
                    elif not handle._cancelled:
                        handle._run()
            elif timers:
                when, _, handle = heappop(timers)
                if not isinstance(handle, partial) and handle._cancelled:
                    continue
                if when > self.now:
                    self.now = when
                    self.elapsed_ns = round((when - START_S) * 1e9)
                    self._turns = 0
                else:
                    self._turns += 1
                    if self._turns > _MOST_TURNS:
                        self._stand_still()
                if timers and timers[0][0] <= self.now:
                    # What was asked for before any of them is called.
                    ready.append(handle)
                    while timers and timers[0][0] <= self.now:
                        ready.append(heappop(timers)[2])
                elif isinstance(handle, partial):
                    handle()
                else:
                    handle._run()
            else:
                raise DeadlockError(f"at {self._said_now()} nothing is ready and no timer is set")
            if self._stopping:
                return

    def _stand_still(self) -> NoReturn:
        raise StandstillError(f"{_MOST_TURNS} turns, and it is still {self._said_now()}")

    def _hear_signals(self) -> None:
        while self._signals:
            self._ready.append(self._handlers[self._signals.popleft()])

    def close(self) -> None:
        """Drops all callbacks, so that a reference kept for the time keeps nothing else alive."""
        super().close()
        self._timers.clear()
        self.internet = None

    def _said_now(self) -> str:
        return f"{self.now - START_S:.3f} virtual seconds"

    # --- the machine's signals: Ctrl-C is real ---

    def add_signal_handler(self, sig: int, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Called in the next turn after the signal; turns are short."""
        self._handlers[sig] = asyncio.Handle(callback, args, self, None)
        signal.signal(sig, lambda number, _frame: self._signals.append(number))

    @property
    def is_signalled(self) -> bool:
        """Whether a signal waits for the next turn."""
        return bool(self._signals)

    def remove_signal_handler(self, sig: int) -> bool:
        if self._handlers.pop(sig, None) is None:
            return False
        signal.signal(sig, signal.default_int_handler if sig == signal.SIGINT else signal.SIG_DFL)
        self._signals = deque(number for number in self._signals if number != sig)
        return True

    def __del__(self) -> None:
        """Without a warning when it was never run: it holds nothing of the machine."""

    # --- the network, and what there is not ---

    async def create_connection(  # type: ignore[override]  # of the many ways there is this one
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """A stream through the simulated network. Raises OSError."""
        if self.internet is None:
            self._refuse("create_connection")
        protocol = protocol_factory()
        return await self.internet.dial(protocol, host, port), protocol

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], object], *args: *Ts) -> NoReturn:
        del executor, args
        self._refuse(f"a thread for {getattr(func, '__qualname__', func)}")

    async def getaddrinfo(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("getaddrinfo")

    async def create_server(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("create_server")

    async def create_datagram_endpoint(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("create_datagram_endpoint")

    async def subprocess_exec(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("subprocess_exec")

    async def subprocess_shell(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("subprocess_shell")

    def _refuse(self, what: str) -> NoReturn:
        raise NotSimulatedError(f"{what}: a virtual loop reaches no machine")


def run(main: Coroutine[Any, Any, T], loop: VirtualLoop) -> T:
    """Like `asyncio.run`, on this loop: what is left is cancelled, and the loop is closed."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main)
