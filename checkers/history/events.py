"""The lines of `events-*.jsonl.zst`, as they are written while a run goes on.

Frames of zstd, each a whole number of lines, each with a checksum; a file cut anywhere loses its
last frame only. `type` says what a line is:

    {"type":"invoke","i":7,"p":3,"f":"write","k":"r-1","v":42,"t":123,"n":1,"ph":"main"}
    {"type":"ok"|"fail"|"info","i":9,"p":3,"v":42,"t":456,"e":null}      completes p's open invoke
    {"type":"fault","id":1,"stage":"start|bit|heal|healed|evidence", ...}    fields of `FAULTS`
    {"type":"note","t":1,"text":"..."}                                    progress, for the reader

A process has at most one open invocation, and none after an `info` (it retires).
"""

from enum import StrEnum


class EventType(StrEnum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"
    FAULT = "fault"
    NOTE = "note"


class FaultStage(StrEnum):
    START = "start"
    BIT = "bit"
    HEAL = "heal"
    HEALED = "healed"
    EVIDENCE = "evidence"
