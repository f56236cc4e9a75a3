"""NOT_CONTROLLER between two writes that its node acknowledged in one epoch, and elsewhere."""

from collections.abc import Sequence

import pytest

from checkers.quorum.read_confirmation import controllers_do_not_deny_it
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import Row, config_record, make_run, read, write

FIRST, SECOND = write(100, 0, 1), write(101, 8, 9)
IN_ONE_EPOCH = (1, 1)


def denied(invoke: int = 3, complete: int = 4, *, node: int = 1) -> Row:
    return read(None, invoke, complete, node=node, outcome="fail", error="error-41")


def judged(
    *ops: Row, epochs: Sequence[int] = IN_ONE_EPOCH, others: Sequence[Row] = ()
) -> CheckResult:
    """Two writes through n1, and `ops`; the written records are of these epochs."""
    records = [
        config_record(1, 5 + number, "r-0", 100 + number, epoch)
        for number, epoch in enumerate(epochs)
    ]
    return controllers_do_not_deny_it(
        make_run(ops=[FIRST, *ops, SECOND], records=[*records, *others])
    )


def test_an_active_controller_does_not_say_that_it_is_none() -> None:
    result = judged(denied())
    assert (result.verdict, result.count, result.looked_at) == (Verdict.INVALID, 1, 1)
    assert "node 1 answered NOT_CONTROLLER, but acknowledged writes in epoch 1" in result.message


@pytest.mark.parametrize(
    "op",
    [
        denied(node=2),
        denied(0, 4),  # it was asked before the first write was acknowledged
        denied(3, 9),  # it may have answered after the last was asked for
    ],
)
def test_who_is_none_then_says_so(op: Row) -> None:
    result = judged(op)
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_who_led_twice_was_none_in_between() -> None:
    assert judged(denied(), epochs=(1, 3)).verdict is Verdict.VALID


def test_the_epoch_of_a_snapshot_is_not_that_of_what_it_holds() -> None:
    """All that is left of the first write stands in a snapshot that was taken in epoch 3."""
    header, held, footer = (config_record(1, 5, "r-0", 100, 3) for _ in range(3))
    header |= {"type": "SnapshotHeader", "resource": None, "value": None}
    footer |= {"type": "SnapshotFooter", "resource": None, "value": None}
    written = config_record(1, 6, "r-0", 101, 3)
    records = [header, held, footer, written]
    run = make_run(ops=[FIRST, denied(), SECOND], records=records)
    assert controllers_do_not_deny_it(run).verdict is Verdict.VALID


def test_a_value_that_stands_in_two_epochs_tells_of_neither() -> None:
    again = config_record(1, 9, "r-0", 100, 2)
    assert judged(denied(), others=[again]).verdict is Verdict.VALID
