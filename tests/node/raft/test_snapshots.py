"""FetchSnapshot and what is around it, of one node; then a quorum that lives by snapshots."""

import random

import pytest

from node import limits
from node.config import SnapshotSettings
from node.controller.controller import Controller
from node.effects import DeleteBeforeSnapshot, FinishSnapshot, ReplaceLog, Trace, WriteSnapshot
from node.errors import ErrorCode
from node.ids import NEVER_NS, Epoch, LogPosition, NodeId, Offset
from node.raft.fetch_leader import snapshot_instead
from node.raft.roles import Follower, Prospective
from node.raft.snapshots import deletion_point
from node.records.metadata import ConfigRecord, encode_metadata
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot
from node.wire.fetch import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from tests.node.raft.test_random_runs import CHAOS_NS, Chaos, assert_progress
from tests.support.batches import snapshot
from tests.support.memory_log import MemoryLog
from tests.support.quorum import SECOND, Quorum
from tests.support.registers import Registers, assert_linearizable
from tests.support.rig import CLUSTER, MS, OTHER, QUIET, Rig, batch, fetch, log_of

ID = LogPosition(Epoch(1), Offset(5))
WHOLE = snapshot(ID, 3, size=100)
PIECE = 150


def keep(log: MemoryLog, id_: LogPosition) -> bytes:
    whole = snapshot(id_, 3, size=100)
    log.write_snapshot(id_, 0, whole)
    log.finish_snapshot(id_)
    return whole


# --- the follower ---


def told_to_fetch(log: MemoryLog | None = None) -> Rig:
    rig = Rig(timeouts=QUIET, log=log, snapshots=SnapshotSettings(fetch_max_bytes=PIECE))
    rig.follow(leader=2, epoch=2)
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(2), snapshot=ID))
    return rig


def asked(rig: Rig) -> FetchSnapshotRequest:
    request = rig.asked[-1].request
    assert isinstance(request, FetchSnapshotRequest)
    return request


def piece(request: FetchSnapshotRequest, *, epoch: int = 2) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(
        leader=NodeId(2),
        epoch=Epoch(epoch),
        snapshot=request.snapshot,
        size=len(WHOLE),
        position=request.position,
        data=WHOLE[request.position : request.position + request.max_bytes],
    )


def test_a_snapshot_is_fetched_in_pieces_and_replaces_the_log() -> None:
    rig = told_to_fetch(log_of(1, 1))
    written = 0
    while isinstance(rig.asked[-1].request, FetchSnapshotRequest):
        assert asked(rig).position == written
        rig.reply(2, piece(asked(rig)))
        written += sum(len(it.data) for it in rig.outputs if isinstance(it, WriteSnapshot))
    assert written == len(WHOLE)
    kinds = [type(it) for it in rig.outputs if isinstance(it, FinishSnapshot | ReplaceLog)]
    assert kinds == [FinishSnapshot, ReplaceLog]
    request = rig.asked[-1].request
    assert isinstance(request, FetchRequest)
    assert (request.fetch_offset, request.last_epoch) == (5, 1)
    assert rig.core.raft.quorum.committed == 5
    assert rig.core.role.controller.applied == 5
    assert rig.core.role.controller.image.config((16, "register"))["interval.ms"] == "2".rjust(
        100, "0"
    )
    rig.feed(batch(5, 2), epoch=2, hwm=6)
    assert rig.log.end() == LogPosition(Epoch(2), Offset(6))
    assert rig.core.role.controller.applied == 6


def test_each_piece_keeps_the_leader() -> None:
    rig = told_to_fetch()
    for _ in range(2):
        rig.pass_ms(1900)
        rig.reply(2, piece(asked(rig)))
        assert isinstance(rig.role, Follower)
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)


@pytest.mark.parametrize("error", [ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE])
def test_one_that_is_gone_is_asked_for_no_more(error: ErrorCode) -> None:
    rig = told_to_fetch()
    rig.reply(2, piece(asked(rig)))
    refused = FetchSnapshotResponse(leader=NodeId(2), epoch=Epoch(2), error=error)
    rig.reply(2, refused)
    rig.pass_ms(50)
    assert isinstance(rig.asked[-1].request, FetchRequest)
    newer = LogPosition(Epoch(2), Offset(9))
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(2), snapshot=newer))
    assert (asked(rig).snapshot, asked(rig).position) == (newer, 0)


def test_another_leader_is_asked_from_the_beginning() -> None:
    """Its snapshot of the same name need not have the same bytes."""
    rig = told_to_fetch()
    rig.reply(2, piece(asked(rig)))
    assert asked(rig).position == PIECE
    rig.follow(leader=3, epoch=3)
    rig.reply(3, FetchResponse(leader=NodeId(3), epoch=Epoch(3), snapshot=ID))
    assert asked(rig).position == 0


@pytest.mark.parametrize(
    "damaged",
    [
        lambda it: it[:-1] + b"x",
        lambda it: it[:20] + b"x" + it[21:],
        lambda it: it + it,
        lambda it: it[: len(it) // 2],
        lambda _: b"",
    ],
)
def test_bytes_that_are_no_snapshot_are_not_taken(damaged) -> None:  # type: ignore[no-untyped-def]
    rig = Rig(timeouts=QUIET, log=log_of(1, 1))
    rig.follow(leader=2, epoch=2)
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(2), snapshot=ID))
    data = damaged(WHOLE)
    request = asked(rig)
    answer = FetchSnapshotResponse(
        leader=NodeId(2), epoch=Epoch(2), snapshot=ID, size=len(data), position=0, data=data
    )
    rig.reply(2, answer)
    assert not [it for it in rig.outputs if isinstance(it, FinishSnapshot | ReplaceLog)]
    assert rig.traces[-1].event in {"q.garbled", "q.state"}
    assert rig.log.end().offset == 2
    assert request.position == 0


def test_one_that_takes_back_what_is_committed_is_not_fetched() -> None:
    rig = Rig(timeouts=QUIET, log=log_of(*[1] * 6))
    rig.follow(leader=2, epoch=2)
    rig.feed(epoch=2, hwm=6)
    rig.reply(2, FetchResponse(leader=NodeId(2), epoch=Epoch(2), snapshot=ID))
    assert rig.traces[-1].event == "q.garbled"


# --- the leader ---


def leading(log: MemoryLog) -> Rig:
    rig = Rig(timeouts=QUIET, log=log)
    rig.become_leader()
    return rig


def request_for(rig: Rig, position: int, *, id_: LogPosition = ID) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        cluster_id=CLUSTER,
        replica=OTHER,
        epoch=rig.role.epoch,
        snapshot=id_,
        position=position,
        max_bytes=PIECE,
    )


def test_a_leader_serves_its_snapshots_by_position() -> None:
    log = log_of(*[1] * 6)
    whole = keep(log, ID)
    rig = leading(log)
    answer = rig.request(request_for(rig, 100))
    assert isinstance(answer, FetchSnapshotResponse)
    assert (answer.size, answer.position) == (len(whole), 100)
    assert answer.data == whole[100 : 100 + PIECE]


@pytest.mark.parametrize(
    ("position", "offset", "error"),
    [
        (-1, 5, ErrorCode.POSITION_OUT_OF_RANGE),
        (len(WHOLE), 5, ErrorCode.POSITION_OUT_OF_RANGE),
        (0, 4, ErrorCode.SNAPSHOT_NOT_FOUND),
    ],
)
def test_what_is_not_there_is_refused(position: int, offset: int, error: ErrorCode) -> None:
    log = log_of(*[1] * 6)
    keep(log, ID)
    rig = leading(log)
    id_ = LogPosition(Epoch(1), Offset(offset))
    answer = rig.request(request_for(rig, position, id_=id_))
    assert isinstance(answer, FetchSnapshotResponse)
    assert answer.error == error


def test_who_fetches_a_snapshot_follows() -> None:
    log = log_of(*[1] * 6)
    keep(log, ID)
    rig = leading(log)
    for _ in range(4):
        rig.pass_ms(2500)
        assert isinstance(rig.request(request_for(rig, 0)), FetchSnapshotResponse)
    epoch = rig.role.epoch
    assert rig.core.raft.quorum.leader == 1
    rig.pass_ms(3000)
    assert (rig.core.raft.quorum.epoch, type(rig.role).__name__) == (epoch, "Resigned")


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (0, 0, 5),  # nothing there: a snapshot is shorter
        (2, 1, 5),  # below the log's start
        (3, 1, None),  # at it
        (3, 0, 5),  # another's at it
        (6, 0, 5),  # longer, and older than what the log still knows
        (6, 1, None),
    ],
)
def test_who_lacks_what_the_log_starts_behind_is_told_of_a_snapshot(
    offset: int, epoch: int, expected: int | None
) -> None:
    log = log_of(*[1] * 6)
    oldest = LogPosition(Epoch(1), Offset(3))
    keep(log, oldest)
    keep(log, ID)
    log.delete_before_snapshot(oldest)
    found = snapshot_instead(log, offset, epoch)
    assert (None if found is None else found.offset) == expected
    rig = leading(log)
    answer = rig.request(fetch(epoch=rig.role.epoch, offset=offset, last_epoch=epoch))
    if expected is not None:
        assert isinstance(answer, FetchResponse)
        assert answer.snapshot == ID


# --- what is kept ---


def kept(*ends: int) -> list[Snapshot]:
    return [
        Snapshot(
            id=LogPosition(Epoch(1), Offset(end)), size=10, timestamp_ms=end * 1000, controls=()
        )
        for end in ends
    ]


@pytest.mark.parametrize(
    ("ends", "log_bytes", "now_ms", "expected"),
    [
        ((), 10**9, 0, None),
        ((5,), 10**9, 10**9, None),  # the newest one stays, and all behind it
        ((5, 9), 70, 9000, None),
        ((5, 9), 90, 9000, 9),
        ((5, 9), 10, 15_000, None),
        ((5, 9), 10, 15_001, 9),
        ((5, 9, 12), 90, 0, 9),  # one at a time: the log shrinks with each
    ],
)
def test_the_oldest_goes_while_there_is_too_much_or_it_is_too_old(
    ends: tuple[int, ...], log_bytes: int, now_ms: int, expected: int | None
) -> None:
    settings = SnapshotSettings(retention_bytes=100, retention_ms=10_000)
    found = deletion_point(kept(*ends), log_bytes, now_ms, settings)
    assert (None if found is None else found.offset) == expected


def test_a_node_begins_with_its_newest_snapshot() -> None:
    log = log_of(*[1] * 6)
    keep(log, ID)
    log.delete_before_snapshot(ID)
    rig = Rig(timeouts=QUIET, log=log)
    assert rig.core.role.controller.applied == 5
    assert rig.core.raft.quorum.committed == 5
    assert rig.core.role.controller.image.config((16, "register"))
    assert not [it for it in rig.outputs if isinstance(it, DeleteBeforeSnapshot | ReplaceLog)]


def test_the_digest_of_what_it_began_with_is_told_steps_later() -> None:
    log = log_of(*[1] * 6)
    log.write_snapshot(ID, 0, snapshot(ID, 3 * 5_000))
    log.finish_snapshot(ID)
    rig = Rig(timeouts=QUIET, log=log)
    told = [it for it in rig.outputs if isinstance(it, Trace) and it.event == "c.image"]
    digest = rig.core.role.controller.image.digest
    assert [it.fields for it in told] == [{"offset": 5, "digest": digest}]


NEWER = LogPosition(Epoch(1), Offset(6))
TAKEN_NS = 1_700_000_000_005 * MS  # when the older one was


def log_with_two_snapshots() -> MemoryLog:
    """The log begins behind neither."""
    log = log_of(*[1] * 6)
    for id_ in (ID, NEWER):
        keep(log, id_)
    return log


def rig_with_two_snapshots(settings: SnapshotSettings, now_ns: int) -> Rig:
    log = log_with_two_snapshots()
    return Rig(timeouts=QUIET, log=log, snapshots=settings, now_ns=now_ns)


def deleted(rig: Rig) -> list[object]:
    """Where the snapshots ended that are told to be gone."""
    told = [line.fields for line in rig.traces if line.event == "q.snapshot"]
    return [fields["end"] for fields in told if fields["what"] == "deleted"]


def test_an_old_snapshot_goes_when_the_node_starts() -> None:
    """The node was away while it grew too old."""
    rig = rig_with_two_snapshots(SnapshotSettings(retention_ms=999), TAKEN_NS + SECOND)
    assert [it for it in rig.outputs if isinstance(it, DeleteBeforeSnapshot)]
    rig.pass_ms(2000)
    assert (deleted(rig), rig.log.start()) == ([5], 6)


def test_a_snapshot_grows_too_old_while_no_other_comes() -> None:
    rig = rig_with_two_snapshots(SnapshotSettings(retention_ms=90_000), TAKEN_NS)
    rig.pass_ms(65_000)
    assert (deleted(rig), rig.log.start()) == ([], 0)
    rig.pass_ms(60_000)
    assert (deleted(rig), rig.log.start()) == ([5], 6)
    rig.pass_ms(600_000)
    assert deleted(rig) == [5], "the newest one stays, however old"


def test_the_log_grows_too_large_while_no_snapshot_comes() -> None:
    log = log_with_two_snapshots()
    room = log.size() + sum(it.size for it in log.snapshots())
    rig = Rig(timeouts=QUIET, log=log, snapshots=SnapshotSettings(retention_bytes=room))
    rig.follow()
    rig.feed(batch(6, 1), hwm=7)
    assert rig.log.start() == 0, "it is looked at each minute, and not at each record"
    rig.pass_ms(65_000)
    assert (deleted(rig), rig.log.start()) == ([5], 6)


def test_where_nothing_could_go_nothing_is_looked_at() -> None:
    """A node of which nothing is due sleeps."""
    log = log_of(*[1] * 6)
    keep(log, ID)
    settings = SnapshotSettings(retention_ms=1)
    rig = Rig(timeouts=QUIET, log=log, snapshots=settings, now_ns=TAKEN_NS)
    assert rig.core.raft.snapshots.deadline_ns() == NEVER_NS
    rig.pass_ms(120_000)
    assert deleted(rig) == []


# --- the writer ---


def test_a_snapshot_of_large_values_is_one_that_a_reader_takes() -> None:
    """No batch is larger than any reader takes, however large the records: not only their number
    is bounded."""
    value, count = "v" * 30_000, 400
    values = [
        encode_metadata(
            ConfigRecord(resource_type=16, resource_name=f"r{n}", name="m", value=value)
        )
        for n in range(count)
    ]
    assert count * len(value) > limits.MAX_BATCH_BYTES * 1.4
    rig = Rig(timeouts=QUIET, snapshots=SnapshotSettings(record_bytes=count * len(value)))
    rig.follow()
    for base, text in enumerate(values):
        rig.feed(batch(base, 1, text=text), hwm=count)
    while not rig.log.snapshots():  # a slice a step
        rig.pass_ms(1)
    (taken,) = rig.log.snapshots()
    reader, position = SnapshotReader(taken.id.epoch), 0
    found = list[bytes | None]()
    while position < taken.size:
        piece = rig.log.read_snapshot(taken.id, position, 1024 * 1024)
        found += [each for part in reader.feed(piece) for each in part.values()]
        position += len(piece)
    assert reader.is_complete
    assert found == values[: taken.id.offset]


@pytest.mark.parametrize("seed", range(2))
def test_a_quorum_that_lives_by_snapshots_is_safe(seed: int) -> None:
    """Faults, small snapshots, logs that are cut at once; every step is looked at."""
    rng = random.Random(f"{seed}:chaos")
    settings = SnapshotSettings(record_bytes=1000, retention_bytes=1500, fetch_max_bytes=200)
    quorum = Quorum(3, seed=seed, snapshots=settings, invariants=True)
    quorum.start()
    clients = Registers(quorum, processes=3, keys=8, seed=seed, pause_ms=120)
    Chaos(quorum, rng).begin()
    quorum.run_for(CHAOS_NS + 4 * SECOND)
    quorum.heal()
    assert_progress(quorum)
    clients.stop()
    quorum.run_for(2 * SECOND)
    assert_linearizable(clients.operations)
    told = [line.fields["what"] for line in quorum.lines if line.event == "q.snapshot"]
    assert {"created", "fetched", "deleted"} <= set(told)


def test_a_follower_that_was_away_comes_back_by_a_snapshot_and_nobody_is_elected() -> None:
    settings = SnapshotSettings(record_bytes=1000, retention_bytes=1500)
    quorum = Quorum(3, seed=5, snapshots=settings, invariants=True)
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 10 * SECOND)
    away = next(node for node in quorum.members if node not in quorum.active())
    quorum.power_off(away)
    clients = Registers(quorum, processes=3, keys=8, seed=5, pause_ms=20)
    behind = quorum.members[away].log.end().offset
    assert quorum.run_until(
        lambda: quorum.members[quorum.active()[0]].log.start() > behind, 60 * SECOND
    )
    epoch = quorum.core(quorum.active()[0]).raft.quorum.epoch
    quorum.start(away)
    log = quorum.members[away].log
    assert quorum.run_until(lambda: log.start() > behind, 3 * SECOND)
    clients.stop()
    quorum.run_for(2 * SECOND)
    assert {quorum.core(node).raft.quorum.epoch for node in quorum.members} == {epoch}
    images = {controller(quorum, node).image.digest for node in quorum.members}
    assert len(images) == 1


def controller(quorum: Quorum, node: int) -> Controller:
    return quorum.core(node).role.controller
