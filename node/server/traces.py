"""The node's account of itself, one JSON line an event (`node.trace`)."""

import json
from collections.abc import Callable, Mapping
from uuid import UUID

from node.effects import Trace, TraceValue
from node.ids import Now, ReplicaKey, uuid_text
from node.trace import TRACE_FIELDS

Sink = Callable[[bytes], None]
Fields = Mapping[str, TraceValue]
Listen = Callable[[Trace, Now], None]
Encode = Callable[[Fields], bytes]

_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encode_fields(fields: Fields) -> bytes:
    return _ENCODER.encode(fields).encode()


class TraceWriter:
    """Numbers the lines of one life of the process and holds them until `flush`.

    Whoever makes something visible (sends a frame, ends the process) flushes first. `incarnation`
    names this life; `sink` takes whole lines, which are with their reader when it returns. `encode`
    makes JSON without spaces of a line's own fields; `listen` hears of every line as it is added.
    """

    def __init__(
        self,
        key: ReplicaKey,
        incarnation: UUID,
        sink: Sink,
        encode: Encode = encode_fields,
        listen: Listen | None = None,
    ) -> None:
        disk, life = uuid_text(key.directory), uuid_text(incarnation)
        # As it stands in every line.
        self._identity = f'"node":{key.id},"dir":"{disk}","inc":"{life}"'
        self._sink = sink
        self._listen = listen
        self._encode = encode
        self._sequence = 0
        self._lines: list[bytes] = []

    def add(self, trace: Trace, now: Now) -> None:
        assert tuple(trace.fields) == TRACE_FIELDS[trace.event], trace
        line = (
            f'{{"ev":"{trace.event}",{self._identity},"seq":{self._sequence},'
            f'"mono":{now.mono_ns},"wall":{now.wall_ns}'
        )
        rest = b"," + self._encode(trace.fields)[1:] if trace.fields else b"}"
        self._sequence += 1
        self._lines.append(line.encode() + rest)
        if self._listen is not None:
            self._listen(trace, now)

    def flush(self) -> None:
        """Every line is with the reader when this returns."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._sink(b"\n".join([*lines, b""]))
