"""How much of a long work is done in one step, where nobody knows how long a piece takes: to make a
log takes some flushes, which are a millisecond on one disk and a tenth of a second on another.

The first step does one piece. As long as steps are short the next does twice as much, and half as
much after a long one: so heartbeats, followers and clients are served meanwhile, and yet a fast
disk is kept busy. A step that also served others was longer than its own pieces; then less is
done, and never nothing.
"""

from node.ids import MS

LONG_NS = 100 * MS  # of a step: a twentieth of broker.heartbeat.interval.ms, as Kafka has it
_MOST = 4096


class Pace:
    def __init__(self) -> None:
        self._pieces = 1
        self._began_ns: int | None = None  # when the last step began to do some; None: none goes on

    def pieces(self, mono_ns: int) -> int:
        """As many may be done in the step that begins now."""
        if self._began_ns is not None:
            took_ns = mono_ns - self._began_ns
            if took_ns > LONG_NS:
                self._pieces = max(1, self._pieces // 2)
            elif took_ns <= LONG_NS // 4:
                self._pieces = min(_MOST, self._pieces * 2)
        self._began_ns = mono_ns
        return self._pieces

    def rest(self) -> None:
        """All is done: until there is more, how long steps take says nothing."""
        self._began_ns = None
