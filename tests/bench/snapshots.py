"""How soon a controller is there again with 100,000 metadata records: from its log, from a snapshot
(KIP-630), and as a follower that fetches one.

CPU time of a node on a real disk, the best of some tries: the disk's own time is the machine's.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from node.controller.controller import Controller
from node.ids import Epoch, LogPosition, NodeId, Offset
from node.raft.roles import Follower
from node.records.batch import encode_batch
from node.records.snapshot import SnapshotEncoder
from node.server.real_disk import RealDisk
from node.storage.disk import METADATA_DIRECTORY
from node.storage.log import Log
from node.wire.fetch import FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from tests.bench.behind import config
from tests.bench.row import Row
from tests.bench.steps import SteppedLeader
from tests.support.rig import QUIET, Rig

RECORDS = 100_000
_A_BATCH = 100
_A_SLICE = 2_000  # as snapshots are written
_TRIES = 5
_SEGMENT = 1 << 30
_END = LogPosition(Epoch(1), Offset(RECORDS))


def open_log(directory: Path) -> Log:
    return Log.open(RealDisk(directory), METADATA_DIRECTORY, _SEGMENT)


def write_log(directory: Path) -> None:
    """Every record sets another key."""
    log = open_log(directory)
    for base in range(0, RECORDS, _A_BATCH):
        values = [(None, config(number)) for number in range(base, base + _A_BATCH)]
        log.append(
            encode_batch(values, base_offset=Offset(base), leader_epoch=Epoch(1), timestamp_ms=0)
        )
    log.flush()
    log.close()


def write_snapshot(directory: Path) -> None:
    """Of the same records, and an empty log behind it."""
    log = open_log(directory)
    log.write_snapshot(_END, 0, whole_snapshot())
    log.finish_snapshot(_END)
    log.replace(_END)
    log.close()


def whole_snapshot() -> bytes:
    encoder = SnapshotEncoder(Epoch(1), 0)
    pieces = [encoder.opening(())]
    for base in range(0, RECORDS, _A_SLICE):
        pieces.append(encoder.data([config(number) for number in range(base, base + _A_SLICE)]))
    return b"".join([*pieces, encoder.closing()])


def has_replayed_all(controller: Controller) -> bool:
    return bool(controller.image.config((16, f"r{RECORDS - 1}")))


def cpu_s(write: Callable[[Path], None]) -> float:
    times = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write(directory)
        for _ in range(_TRIES):
            began = time.process_time()
            SteppedLeader(open_log(directory), has_replayed_all)
            times.append(time.process_time() - began)
    return min(times)


def catch_up(whole: bytes) -> float:
    """Of a follower without a log, from the answer that names the snapshot on until it has replayed
    it; in seconds of CPU. It must never ask for votes."""
    rig, began = Rig(timeouts=QUIET), time.process_time()
    rig.follow(leader=2, epoch=2)
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(2), snapshot=_END))
    while isinstance(request := rig.asked[-1].request, FetchSnapshotRequest):
        rig.reply(2, _piece(whole, request))
    assert isinstance(rig.role, Follower)
    rig.pass_ms(1)
    assert rig.core.role.controller.applied == RECORDS
    return time.process_time() - began


def _piece(whole: bytes, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(
        leader=NodeId(2),
        epoch=Epoch(2),
        snapshot=request.snapshot,
        size=len(whole),
        position=request.position,
        data=whole[request.position : request.position + request.max_bytes],
    )


def measure() -> Iterator[Row]:
    replayed = f"{RECORDS:,} metadata records replayed at start"
    yield Row(name=replayed, value=cpu_s(write_log), unit="s", bar=2)
    yield Row(name="  from a snapshot", value=cpu_s(write_snapshot), unit="s", bar=0.5)
    whole = whole_snapshot()
    yield Row(
        name="  by a follower that fetches one",
        value=min(catch_up(whole) for _ in range(_TRIES)),
        unit="s",
        bar=3,
        note="nobody asks for votes meanwhile",
    )
