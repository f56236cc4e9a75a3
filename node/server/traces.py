"""The node's account of itself on stdout, one JSON line an event (`node.trace`)."""

import json
import os
from uuid import uuid4

from node.effects import Trace
from node.ids import Now, ReplicaKey, uuid_text
from node.trace import TRACE_FIELDS


class TraceWriter:
    """Numbers the lines of one life of the process and holds them until `flush`.

    Whoever makes something visible (sends a frame, ends the process) flushes first.
    """

    def __init__(self, key: ReplicaKey, descriptor: int) -> None:
        self._identity = {"node": int(key.id), "dir": uuid_text(key.directory)}
        self._incarnation = uuid_text(uuid4())
        self._descriptor = descriptor
        self._sequence = 0
        self._lines: list[str] = []

    def add(self, trace: Trace, now: Now) -> None:
        assert tuple(trace.fields) == TRACE_FIELDS[trace.event], trace
        line = {
            "ev": trace.event,
            **self._identity,
            "inc": self._incarnation,
            "seq": self._sequence,
            "mono": now.mono_ns,
            "wall": now.wall_ns,
            **trace.fields,
        }
        self._sequence += 1
        self._lines.append(json.dumps(line, separators=(",", ":")))

    def flush(self) -> None:
        """Every line is with the reader of our stdout when this returns."""
        if not self._lines:
            return
        rest = memoryview(("\n".join(self._lines) + "\n").encode())
        self._lines.clear()
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
