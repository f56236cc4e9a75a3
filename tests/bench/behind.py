"""How long a follower that is far behind is busy with what one Fetch brings, and with replaying it.

Whole answers of small records: in batches of one each, as a quiet leader writes them, and in the
largest that there are. CPU time of single steps of a core, the best of some tries.
"""

import time
from collections.abc import Callable
from typing import Any

from node.config import QuorumTimeouts
from node.ids import Epoch, Offset
from node.limits import MAX_RECORDS_PER_BATCH
from node.records.batch import encode_batch
from node.records.metadata import ConfigRecord, encode_metadata
from tests.support.memory_log import MemoryLog
from tests.support.rig import NO_OP, QUIET, Rig

RECORDS = 40_000
SIZES = (1, 1000, MAX_RECORDS_PER_BATCH)
_TRIES = 3
_STEPS = ("on_response", "on_timeout", "on_flushed")


def no_op(_number: int) -> bytes:
    return NO_OP


def config(number: int) -> bytes:
    return encode_metadata(
        ConfigRecord(resource_type=16, resource_name=f"r{number}", name="interval.ms", value="1000")
    )


def leaders_log(record: Callable[[int], bytes], size: int, records: int = RECORDS) -> MemoryLog:
    """`records` of them, `size` to a batch."""
    log = MemoryLog()
    for base in range(0, records, size):
        values = [(None, record(base + n)) for n in range(size)]
        log.append(
            encode_batch(values, base_offset=Offset(base), leader_epoch=Epoch(1), timestamp_ms=0)
        )
    return log


def catch_up(rig: Rig, leader: MemoryLog) -> None:
    """Fetch after Fetch; all is committed by then, as the leader says."""
    rig.follow()
    end = leader.end().offset
    while rig.log.end().offset < end:
        data = leader.read(rig.log.end().offset, QuorumTimeouts().fetch_max_bytes)
        rig.feed(data, hwm=end)
    rig.pass_ms(1)


def longest_steps() -> list[tuple[float, str]]:
    """In seconds of CPU, by what the follower is behind of."""
    found = []
    for record in (no_op, config):
        for size in SIZES:
            leader = leaders_log(record, size)
            took_s = min(_longest_step_s(leader) for _ in range(_TRIES))
            found.append((took_s, f"{record.__name__} records, {size} a batch"))
    return sorted(found, reverse=True)


def _longest_step_s(leader: MemoryLog) -> float:
    rig, times = Rig(timeouts=QUIET), list[float]()
    for name in _STEPS:
        setattr(rig.core, name, _timed(getattr(rig.core, name), times))
    catch_up(rig, leader)
    return max(times)


def _timed(step: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        outputs = step(*arguments)
        times.append(time.process_time() - began)
        return outputs

    return timed
