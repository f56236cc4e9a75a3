"""Epochs of logs begin with a LeaderChange, by hand."""

from checkers.history.sealed_run import Run
from checkers.quorum.log_matching import epochs_begin_with_a_leader_change
from checkers.verdict import Verdict
from tests.support.histories import Row, batch, leader_change, make_run


def run(*batches: Row, led: dict[int, int]) -> Run:
    changes = [leader_change(1, offset, epoch, 1) for offset, epoch in led.items()]
    return make_run(batches=batches, records=changes)


def test_each_epoch_begins_with_its_own() -> None:
    log = [batch(1, 0, 0, 1), batch(1, 1, 3, 1), batch(1, 4, 4, 3)]
    found = epochs_begin_with_a_leader_change(run(*log, led={0: 1, 4: 3}))
    assert (found.verdict, found.looked_at) == (Verdict.VALID, 2)
    found = epochs_begin_with_a_leader_change(run(*log, led={0: 1}))
    assert "records of epoch 3 from offset 4 on" in found.message
    found = epochs_begin_with_a_leader_change(run(*log, led={0: 1, 4: 2}))
    assert found.verdict is Verdict.INVALID


def test_nothing_is_said_behind_a_head_that_is_gone_or_damage() -> None:
    later = run(batch(1, 7, 9, 2), batch(1, 10, 12, 2), led={})
    assert epochs_begin_with_a_leader_change(later).verdict is Verdict.UNKNOWN
    damaged = batch(1, 1, 3, 2) | {"crc_ok": False}
    found = run(batch(1, 0, 0, 1), damaged, batch(1, 4, 4, 2), led={0: 1})
    assert epochs_begin_with_a_leader_change(found).verdict is Verdict.VALID
