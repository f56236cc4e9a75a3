"""How many events a second the harness can record, against what encoding them alone costs."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from chaos.recorder import MachineClock, Recorder
from checkers.history.events import EventType
from tests.bench.row import Row

OPERATIONS = 100_000


def measure() -> Iterator[Row]:
    recorded, encoded = _recorded(), _encoded()
    events = 2 * OPERATIONS
    yield Row(
        name="recorder: events", value=events / recorded, unit="events/s", bar=50_000, better="more"
    )
    yield Row(name="recorder: time against encoding alone", value=recorded / encoded, unit="ratio")


def _recorded() -> float:
    with tempfile.TemporaryDirectory() as directory:
        began = time.perf_counter()
        with Recorder(Path(directory), MachineClock()) as recorder:
            process = recorder.new_process()
            for value in range(OPERATIONS):
                recorder.invoke(process, "write", "r-1", value, 1, "main")
                recorder.complete(process, EventType.OK, value, None)
        return time.perf_counter() - began


def _encoded() -> float:
    line = {"type": "invoke", "i": 1, "p": 1, "f": "write", "k": "r-1", "v": 1, "t": 1, "n": 1}
    began = time.perf_counter()
    for _ in range(2 * OPERATIONS):
        orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    return time.perf_counter() - began
