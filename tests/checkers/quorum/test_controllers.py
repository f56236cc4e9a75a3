"""M1, M2, M4: what controllers show; each check accepts and rejects by hand."""

from checkers.quorum.controllers import (
    active_after_replay,
    epochs_rise_in_logs,
    reads_are_committed,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    NodeTrace,
    Row,
    batch,
    config_record,
    disk,
    make_run,
    read,
    write,
)

DISKS = [disk(node) for node in (1, 2, 3)]


def records(*nodes: int, value: int = 100) -> list[Row]:
    return [config_record(node, 5, "r-0", value) for node in nodes]


def m1(found: list[Row], disks: list[Row] | None = None) -> CheckResult:
    ops = [write(100, 0, None), read(100, 1, 2), read(None, 3, 4)]
    return reads_are_committed(make_run(ops=ops, records=found, disks=disks or DISKS))


def test_a_value_that_a_majority_of_disks_has() -> None:
    result = m1(records(1, 2))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_a_value_that_no_log_has() -> None:
    result = m1([])
    assert result.verdict is Verdict.INVALID
    assert "node 1 showed 100 at r-0 to process 0, but no disk has a record of it" in result.message
    wrote, showed = result.witness
    assert (wrote["f"], showed["f"], showed["value"]) == ("write", "read", 100)
    assert m1(records(3)).verdict is Verdict.INVALID


def test_a_damaged_disk_may_have_had_it() -> None:
    damaged = [DISKS[0], DISKS[1], disk(3, problem="cut")]
    assert m1(records(1), damaged).verdict is Verdict.UNKNOWN


def test_no_read_is_unknown() -> None:
    assert reads_are_committed(make_run(disks=DISKS)).verdict is Verdict.UNKNOWN


def active(offset: int) -> NodeTrace:
    trace = NodeTrace(1).start().state("leader", 2, leader=1, log_end=7).append(7, 7, 2)
    return trace.emit("c.active", epoch=2, offset=offset)


def test_active_once_its_leader_change_is_replayed() -> None:
    result = active_after_replay(make_run(traces=[active(8)]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_active_with_a_stale_state() -> None:
    result = active_after_replay(make_run(traces=[active(5)]))
    assert result.verdict is Verdict.INVALID
    assert result.message == (
        "the controller of node 1 became active in epoch 2 before it had replayed that epoch's "
        "LeaderChange, which is at offset 7"
    )
    assert [row["event"] for row in result.witness] == ["q.state", "c.active"]


def test_no_claim_is_unknown() -> None:
    assert active_after_replay(make_run()).verdict is Verdict.UNKNOWN


def test_epochs_along_a_log() -> None:
    rising = [batch(1, 0, 0, 1), batch(1, 1, 2, 1), batch(1, 3, 3, 4)]
    assert epochs_rise_in_logs(make_run(batches=rising)).verdict is Verdict.VALID
    falling = [*rising, batch(1, 4, 4, 3)]
    result = epochs_rise_in_logs(make_run(batches=falling))
    assert result.verdict is Verdict.INVALID
    assert result.message == (
        "the log of node 1 has epoch 3 at offset 4, after epoch 4 at offset 3"
    )
    assert epochs_rise_in_logs(make_run()).verdict is Verdict.UNKNOWN
