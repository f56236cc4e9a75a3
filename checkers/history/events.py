"""The lines of `events-*.jsonl.zst`, as they are written while a run goes on.

Frames of zstd, each a whole number of lines, each with a checksum; a file cut anywhere loses its
last frame only. `type` is the kind of a line:

    {"type":"invoke","i":7,"p":3,"f":"write","k":"r-1","v":42,"t":123,"n":1,"ph":"main"}
    {"type":"ok"|"fail"|"info","i":9,"p":3,"v":42,"t":456,"e":null}      completes p's open invoke
    {"type":"ok","i":11,"p":4,"v":8589934592,"t":456,"e":null,"s":[["t-0",17,8589934592,1,0,null]]}
    {"type":"ok","i":13,"p":5,"v":3,"t":456,"e":null,"w":["1:<directory>"]}    the voters
    {"type":"probe","t0":1,"t1":2,"n":1,"kind":"partition",...}    a row of `PROBES`
    {"type":"malformed","t":1,"node":1,...}    an answer that cannot be read, a row of `MALFORMED`
    {"type":"fault","id":1,"stage":"start|bit|heal|healed|evidence", ...}    fields of `FAULTS`
    {"type":"note","t":1,"text":"..."}                                    progress, for the reader

Operations on logs carry "s", what they sent (in the invocation, and again with the offset that an
answer gave) or polled: [key, offset, value, records, epoch, high_watermark], as in `SPANS`. The
invocation of a send has "a", its acks, and "x", whether its producer is idempotent. The completion
of a `txn`, which both sends and polls, has all of it in order; what it sent is identified by key,
value and records:

    {"type":"invoke","i":1,"p":3,"f":"txn",...,"s":[["t-0",null,12884901888,1,null,null]],"a":-1}
    {"type":"ok","i":2,"p":3,...,"s":[["t-1",4,17,1,0,5],["t-0",9,12884901888,1,null,null]]}

A process has at most one open invocation, and none after an `info` (it retires).

Operations on a register are `read`, `write` and `delete`; a delete has "v" null, and so has a read
that found nothing. A request that names several keys is one operation per key, each of a process of
its own: all are invoked before the first byte is sent, with one "r" that no other request of the
run has, and each is completed by what the answer says about its key:

    {"type":"invoke","i":7,"p":3,"f":"write","k":"r-1","v":42,"t":123,"n":1,"ph":"main","r":5}
    {"type":"invoke","i":8,"p":4,"f":"delete","k":"r-2","v":null,"t":123,"n":1,"ph":"main","r":5}
"""

from enum import StrEnum

# The beginnings of an operation's `error` that checks use.


MALFORMED = "malformed: "  # the answer does not follow Kafka's protocol
REFUSED = "refused: "  # the request had to be refused, or was only validated, and it was refused
ACCEPTED = "accepted: "  # the request had to be refused, and its answer says that it happened
UNANSWERED = "unanswered: "  # the request had to be refused, and no answer says that it was

# Requests that not every target refuses (`sealed_run.STRICT_CONFIGS`), as they follow the words
# above.
SET_TO_NULL = "interval.ms set to null"
TWICE_IN_RESOURCE = "interval.ms twice in a resource"


def is_kafkas(error: str | None) -> bool:
    """Whether it is an error of Kafka's in an answer, by its name or as "error-<code>"; all other
    errors say what happened to a request or its connection."""
    return error is not None and (error.isupper() or error.startswith("error-"))


# Kinds of histories: what clients did, which decides which checks apply.


class HistoryKind(StrEnum):
    """The kind of a run is in its run.json."""

    REGISTERS = "registers"  # reads and writes of single values
    LOG = "log"  # records sent to partitions, and polled


# The content of a record of a log: its value, repeated, so that damage anywhere is seen.
#
# Clients write it; it is read back by them and from the disks of brokers.


WORD = 8  # a value, big-endian
NOT_SENT = -1  # the value of a record that no client can have sent
# A value is its producer's process and, in this many bits, a number that the process counts up.
NUMBER_BITS = 32
NUMBERS = (1 << NUMBER_BITS) - 1


def value_of(process: int, number: int) -> int:
    """The value of a process' record: no other process ever sends it."""
    return process << NUMBER_BITS | number


def value_name(value: int) -> str:
    """A value as people read it: `6/0` is the first record that process 6 sent."""
    if value == NOT_SENT:
        return "a record that no client sent"
    return f"{value >> NUMBER_BITS}/{value & NUMBERS}"


def payload(value: int, size: int) -> bytes:
    """The bytes of a record of `size` bytes, a multiple of `WORD`."""
    return value.to_bytes(WORD, "big") * (size // WORD)


def value_in(data: bytes | None) -> int:
    """The value that a record carries; `NOT_SENT` if its bytes are not what a client sends."""
    if not data or len(data) % WORD or data[0] > 0x7F:
        return NOT_SENT
    word = data[:WORD]
    return int.from_bytes(word, "big") if word * (len(data) // WORD) == data else NOT_SENT


class EventType(StrEnum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"
    FAULT = "fault"
    PROBE = "probe"
    MALFORMED = "malformed"
    NOTE = "note"


class FaultStage(StrEnum):
    START = "start"
    BIT = "bit"
    HEAL = "heal"
    HEALED = "healed"
    EVIDENCE = "evidence"
