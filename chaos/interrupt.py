"""INT, TERM and HUP end a run cleanly, at any moment, however the shell set them up.

What a signal does to a run (`chaos.run.launch`, `chaos.run.runner`), phase by phase:

    planning, set-up            the command ends at once, by Python's own handlers (`chaos.cli`)
    creating, load and faults,  the experiment is cancelled; logs and disks are collected (not while
    healing, final reads        creating), the cluster is removed, and the record is sealed and
                                judged: an error, exit code 255
    collecting, removing        nothing more: containers are never left behind
    sealing, judging            both end at once; `kraft-chaos check` judges the record later

A shell may pass SIGINT on as ignored, and Python then never sees it: the handlers are installed
explicitly.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalledError(KeyboardInterrupt):
    """A signal ended a block of `signals_raise`; the message is its name. No `except Exception`
    stops it."""


class Interrupt:
    """Whether a signal asked to stop, and which."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.signal_name = ""

    @property
    def asked(self) -> bool:
        return self._asked.is_set()

    async def wait(self) -> None:
        await self._asked.wait()

    def ask(self, name: str) -> bool:
        """Whether this was the first one."""
        first = not self.asked
        if first:
            self.signal_name = name
            self._asked.set()
        return first


@contextmanager
def signals_to(interrupt: Interrupt, tell: Callable[[str], None]) -> Iterator[None]:
    """Handle the signals within the block; call inside a running loop."""
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        if interrupt.ask(number.name):
            tell(f"{number.name}: stopping, and removing everything that was started")
        else:
            tell(f"{number.name}: already removing everything; this takes some seconds")

    for number in _SIGNALS:
        loop.add_signal_handler(number, asked, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def signals_raise(interrupt: Interrupt) -> Iterator[None]:
    """Within the block a signal raises SignalledError: for work that blocks the loop, where no
    handler of `signals_to` is called, and that leaves nothing to be removed."""

    def asked(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        interrupt.ask(name)
        raise SignalledError(name)

    before = [(number, signal.signal(number, asked)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
