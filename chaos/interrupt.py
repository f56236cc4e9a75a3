"""INT, TERM and HUP end a run cleanly, at any moment, however the shell set them up.

A shell may pass SIGINT on as ignored, and Python then never sees it: the handlers are installed
explicitly. Only the first signal counts; later ones do not shorten the removal of containers.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
