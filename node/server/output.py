"""The node's output: notices to the operator, stdout and stderr, and the trace.

Notices about what others do are rate-limited, by kind, so that no peer can fill a disk with them.
"""

import io
import json
import os
import select
import stat
from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO
from uuid import UUID

from node.effects import Trace, TraceValue
from node.ids import Now, ReplicaKey, uuid_text
from node.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


QUIET_NS = 10 * 10**9  # after a notice, others of its kind are counted


class NoticeKind(StrEnum):
    """The kinds, which are counted separately."""

    TOO_LARGE = "too large"
    GONE = "gone"
    SLOW = "slow"
    CUT = "cut"


@dataclass(slots=True)
class _Quiet:
    until_ns: int
    count: int = 0
    last: str = ""


class Notices:
    def __init__(self, tell: Callable[[str], None], clock: Callable[[], int]) -> None:
        """`clock`: monotonic, in ns."""
        self._tell = tell
        self._clock = clock
        self._quiet: dict[NoticeKind, _Quiet] = {}

    def add(self, kind: NoticeKind, line: str) -> None:
        """The first of a kind is printed at once."""
        quiet = self._quiet.get(kind)
        if quiet is None:
            self._quiet[kind] = _Quiet(self._clock() + QUIET_NS)
            self._tell(line)
        else:
            quiet.count += 1
            quiet.last = line

    def look(self) -> None:
        """Print what was counted for long enough, in a line for each kind."""
        now_ns = self._clock()
        for kind, quiet in list(self._quiet.items()):
            if now_ns < quiet.until_ns:
                continue
            if quiet.count:
                others = "" if quiet.count == 1 else f" (and {quiet.count - 1} like it before)"
                self._tell(quiet.last + others)
                self._quiet[kind] = _Quiet(now_ns + QUIET_NS)
            else:
                del self._quiet[kind]


# stdout and stderr of a process that goes on when they are not read.
#
# Lines are with their reader when `write` returns, as long as there is a reader. One that does not
# take the content of a pipe within `WRITE_PATIENCE_S` is not waited for again before it has taken
# all that is pending. Pending bytes are bounded: beyond that whole writes are dropped, and counted.


WRITE_PATIENCE_S = 1.0
MOST_BYTES = 16 * 1024 * 1024
_FILE_BYTES = 1 << 30


class Outlet:
    """Writes to an open file, which has no other writer."""

    def __init__(self, descriptor: int, tell: Callable[[str], None]) -> None:
        """`tell` is called with a line when reading stops, and when it begins again."""
        self._descriptor = descriptor
        # A pipe that is writable has room for that many bytes at least, and a file for any number.
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._piece_bytes = _FILE_BYTES if is_file else select.PIPE_BUF
        self._tell = tell
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._waiting = deque[memoryview]()
        self._waiting_bytes = 0
        self._dropped = 0
        self._is_stalled = False

    def write(self, data: bytes) -> None:
        """Raises OSError if there is no reader any more."""
        if self._is_stalled:
            self._put_by(data)
            self._write_on(0.0)
            if not self._waiting:
                self._end_stall()
        elif not self._write(memoryview(data), WRITE_PATIENCE_S):
            self._is_stalled = True
            self._tell(f"no process reads descriptor {self._descriptor}: lines wait")

    def finish(self) -> None:
        """Before the process ends: its last lines are waited for like its first."""
        self._write_on(WRITE_PATIENCE_S)

    def _write_on(self, patience_s: float) -> None:
        """Write pending bytes, as far as they are taken."""
        while self._waiting:
            first = self._waiting.popleft()
            self._waiting_bytes -= len(first)
            if not self._write(first, patience_s):
                return

    def _write(self, data: memoryview, patience_s: float) -> bool:
        """Write all of it; False: it was not taken in time, and the rest is pending, before all
        others.
        """
        while data:
            if not self._poll.poll(patience_s * 1000):
                self._waiting.appendleft(data)
                self._waiting_bytes += len(data)
                return False
            data = data[os.write(self._descriptor, data[: self._piece_bytes]) :]
        return True

    def _put_by(self, data: bytes) -> None:
        if self._waiting_bytes + len(data) > MOST_BYTES:
            self._dropped += data.count(b"\n")
        else:
            self._waiting.append(memoryview(data))
            self._waiting_bytes += len(data)

    def _end_stall(self) -> None:
        self._is_stalled = False
        dropped, self._dropped = self._dropped, 0
        lost = f"; {dropped} lines were dropped meanwhile" if dropped else ""
        self._tell(f"what descriptor {self._descriptor} is told is read again{lost}")


class _Raw(io.RawIOBase):
    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        self._outlet.write(bytes(data))
        return memoryview(data).nbytes


def as_text(outlet: Outlet) -> TextIO:
    """Replaces `sys.stderr`: each write leaves at once."""
    return io.TextIOWrapper(io.BufferedWriter(_Raw(outlet)), line_buffering=True)


# The trace writer: one JSON line an event.


Sink = Callable[[bytes], None]
Fields = Mapping[str, TraceValue]
Listen = Callable[[Trace, Now], None]
Encode = Callable[[Fields], bytes]

_ENCODER = json.JSONEncoder(separators=(",", ":"))


def encode_fields(fields: Fields) -> bytes:
    return _ENCODER.encode(fields).encode()


class TraceWriter:
    """Numbers the lines of one life of the process and holds them until `flush`.

    Code that makes something visible (sends a frame, ends the process) flushes first. `incarnation`
    names this life; `sink` takes whole lines, which are with their reader when it returns. `encode`
    makes JSON without spaces of a line's own fields; `listen` gets every line as it is added.
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
        # The fields that are the same in every line.
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


# The trace format: one JSON line an event, written before the effect is visible.
#
# Every line has, in this order: `ev` (below), `node`, `dir` (directory id), `inc` (process
# incarnation), `seq` (from 0, without gaps in one incarnation), `mono` and `wall` (ns; when the
# step was taken that left the line), then the fields of the event. The reader's side of this
# contract is `checkers.history.traces`, which shares no code with it; a test holds the two equal.


TRACE_FIELDS: dict[str, tuple[str, ...]] = {
    # The process runs: the state that it found on its disk.
    "n.start": ("version", "cluster", "epoch", "leader", "log_end", "log_epoch"),
    # Then, if there was no flush mark: whole batches may be missing behind `end`.
    "n.unmarked": ("end",),
    # And if a power cut had left damage above what was flushed: that many bytes of a segment were
    # cut off, and the log ends at `end`. flushed: the mark, at or below it; reason: what was wrong.
    "n.cut": ("segment", "end", "bytes", "flushed", "reason"),
    # A snapshot is damaged, and not loaded.
    "n.damaged": ("file", "reason"),
    # The indexes of a segment of a partition's log were not as they were left, and were rebuilt
    # from its batches.
    "n.reindexed": ("segment", "reason"),
    # A running broker has found a damaged batch in a partition's log, and does not serve it.
    "n.rotten": ("log", "reason"),
    "n.stop": ("code", "reason"),
    # A request gets no answer: its version cannot carry the answer, or too many requests are
    # waiting already. The connection is closed.
    "n.unanswered": ("api", "version", "reason"),
    # A request, or an answer, has more elements than this node takes. The connection is closed.
    "n.oversized": ("reason",),
    # Role, epoch, leader and vote, after they are durable. state: unattached, prospective, ...
    # silent_ns: for how long the leader that the node followed until now had not answered a Fetch,
    # by the node's own clock; -1 if it followed none, had no answer yet, or the leader resigned
    # (EndQuorumEpoch).
    "q.state": (
        "state",
        "epoch",
        "leader",
        "voted",
        "voted_dir",
        "log_end",
        "log_epoch",
        "silent_ns",
    ),
    # The voter set in force: [{id, dir}].
    "q.voters": ("offset", "epoch", "voters"),
    # A batch was written (not yet durable); role is leader or follower.
    "q.append": ("base", "last", "epoch", "crc", "role"),
    # The log has, first at `offset`, a record that this node cannot replay: it follows and votes,
    # and does not stand for election. Offset -1 and no record: that was truncated, and it may
    # again.
    "q.unfit": ("offset", "record"),
    "q.truncate": ("end", "hwm", "role"),
    "q.fsync": ("end",),
    # A snapshot of all records below `end`, the last of which is of `epoch`: found when the process
    # began, created or fetched (whole, and durable) or deleted. start: the log's then.
    "q.snapshot": ("what", "end", "epoch", "start"),
    # The log was replaced by a snapshot, where it now starts and ends.
    "q.loaded": ("end", "epoch"),
    # A digest of the controller's image at an offset: the same on every node.
    "c.image": ("offset", "digest"),
    # A record about a broker, a topic or a partition is committed, and replayed into the image.
    "c.record": ("offset", "record"),
    # A voter's response was malformed; the connection to it is closed.
    "q.garbled": ("peer", "reason"),
    "q.hwm": ("hwm", "epoch", "role"),
    # The leader took a Fetch into account; only if offset or outcome differ from the last one.
    "q.fetch": ("replica", "replica_dir", "offset", "last_epoch", "epoch", "outcome"),
    # A real vote was answered (after it was made durable). log: the end of the candidate's, as in
    # its request.
    "q.vote": ("candidate", "candidate_dir", "epoch", "granted", "log_end", "log_epoch"),
    "c.active": ("epoch", "offset"),
    # The leader refused the registration of this controller, with an error code of the protocol.
    "c.unregistered": ("error",),
    "c.resign": ("epoch",),
    # The active controller elects the best of the replicas that it asked (KIP-966): `leader`, of a
    # partition that has none in leader epoch `epoch`. needed: [{id}], those that a Balanced
    # recovery cannot do without. answers: [{id, broker_epoch, last_epoch, end}], as p.asked.
    "c.recovered": ("topic", "index", "epoch", "leader", "needed", "answers"),
    # Reads are answered, all of one step in one line. `ticket` numbers the newest of them (from 1,
    # all reads that this process took, in the order of arrival), `arrived` is when it came. heard:
    # [{id, dir, since}], the other voters that sent a Fetch of this epoch after an answer that left
    # at `since`. Both times are ns of the node's own clock, to be compared with each other only.
    "c.read": ("epoch", "ticket", "arrived", "heard"),
    # A broker's life (KIP-631). state: starting, recovery, running, pending-controlled-shutdown or
    # shutting-down; and vouching: its logs are flushed, and the clean-shutdown file is about to be
    # written. epoch: its broker epoch, -1 until it is registered; previous: the epoch in the last
    # process' clean-shutdown file, which the registration names; -1: there was none. fenced: the
    # controller's last answer.
    "b.life": ("state", "epoch", "previous", "fenced"),
    # What keeps a broker from following the leader of that many of its replicas, for now; it
    # retries. "": nothing does any more.
    "b.following": ("leader", "partitions", "trouble"),
    # What keeps the active controller, at host:port, from answering a broker, which retries;
    # trouble: "": it answers. asked: the names of the unanswered APIs.
    "b.asking": ("controller", "asked", "trouble"),
    # This broker was unregistered while it was up, in that broker epoch.
    "b.unregistered": ("epoch",),
    # A broker's replica of a partition begins to lead, or to follow, in a leader epoch, with that
    # log end and high watermark. topic: an id.
    "p.role": ("topic", "index", "role", "epoch", "end", "hwm"),
    # Of a leader: its ISR as committed ([{id}]), in a partition epoch, and the maximal one
    # (KIP-966), with all that may be in it. hwm, end, ends: as in p.hwm.
    "p.isr": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "isr",
        "maximal",
        "hwm",
        "end",
        "ends",
    ),
    # A controller that looks for the best replica asked this one, and is told: the replica knows
    # leader epoch `epoch`, its last record is of `last_written` (-1: none), and its log ends at
    # `end`, in a life of the broker with that broker epoch.
    "p.asked": ("topic", "index", "epoch", "last_written", "end", "broker_epoch"),
    # Of a leader: it proposes that a replica join the ISR of `partition_epoch`. It knows by a Fetch
    # in that broker epoch that the replica has all below `offset`. hwm: its high watermark then.
    "p.join": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "replica",
        "broker_epoch",
        "offset",
        "hwm",
    ),
    # Of a leader: its high watermark, its log end, and those of the other replicas ([{id, end,
    # active}]; end -1: not known yet; active: 1 for a broker that may lead, as far as this one
    # knows, 0 for one that is fenced, gone or shutting down).
    "p.hwm": ("topic", "index", "epoch", "hwm", "end", "ends"),
    # A follower in `epoch` is about to truncate its log to `end`, a record of `cut_epoch` (-1: of
    # none). hwm: the high watermark that it knew.
    "p.truncate": ("topic", "index", "end", "hwm", "epoch", "cut_epoch"),
}
