"""One smallest history for each anomaly, and beside it a legal one that must pass."""

from collections.abc import Callable

import pytest

from checkers.history.sealed_run import Run
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.verdict import CheckResult, Verdict
from tests.checkers.log.poll_anomalies import POLLS, Told, nonmonotonic_poll, phantom
from tests.checkers.log.send_anomalies import OFFSETS, SENDS, inconsistent_sends
from tests.support.logs import LogRun

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
Check = Callable[[Run], CheckResult | None]


def ended(log: LogRun, *tellings: Told) -> Run:
    for tell in tellings:
        tell(log)
    return log.run()


CASES = [
    *((log_polls, *case) for case in POLLS),
    *((log_offsets, *case) for case in OFFSETS),
    *((log_sends, *case) for case in SENDS),
]


@pytest.mark.parametrize(("check", "name", "wrong", "right"), CASES)
def test_what_is_wrong_and_what_is_right_beside_it(
    check: Check, name: str, wrong: Told, right: Told
) -> None:
    found = check(ended(LogRun(), wrong))
    assert found is not None
    assert found.verdict is INVALID
    assert found.facts[name] >= 1  # type: ignore[operator]  # a count
    assert found.message.startswith(f"{name}: ")
    assert 1 <= len(found.witness) <= 2
    assert all(row["what"] and row["t_ns"] is not None for row in found.witness)
    legal = check(ended(LogRun(), read_of_what_was_sent_elsewhere, right))
    assert legal is not None
    assert legal.verdict is VALID, legal.message


def read_of_what_was_sent_elsewhere(s: LogRun) -> None:
    s.send(7 << 32, 0, key="t-7")
    s.poll((0, 7 << 32), process=70, key="t-7")


def test_the_most_basic_anomaly_comes_first() -> None:
    result = log_polls(ended(LogRun(), nonmonotonic_poll, phantom_of_another))
    assert result is not None
    assert result.message == (
        "phantom: process 80 polled 9/1 at t-3, which was never sent "
        "(in all 1 phantom, 1 nonmonotonic-poll)"
    )
    assert result.count == 2
    assert [row["process"] for row in result.witness] == [80]


def phantom_of_another(s: LogRun) -> None:
    s.poll((0, 9 << 32 | 1), process=80, key="t-3")


def test_what_may_have_been_in_the_part_that_is_cut_is_unknown() -> None:
    log = LogRun()
    phantom(log)
    result = log_polls(log.run(truncated=("events-ops: 9 bytes",)))
    assert result is not None
    assert (result.verdict, result.count) == (UNKNOWN, 0)


def test_a_topic_that_was_deleted_promises_nothing() -> None:
    log = LogRun()
    inconsistent_sends(log)
    log.send(5 << 32, 0, key="u-0")
    log.end(log.begin("delete-topic", 99, key="t"))
    result = log_offsets(log.run())
    assert result is not None
    assert (result.verdict, result.looked_at) == (VALID, 1)


def test_a_value_that_was_sent_twice_is_no_history() -> None:
    log = LogRun()
    log.send(1, 0)
    log.send(1, 1)
    with pytest.raises(ValueError, match="the value 1 was sent twice"):
        log_offsets(log.run())


def test_runs_of_registers_have_no_logs() -> None:
    from tests.support.sealed_runs import synthetic_run

    info = synthetic_run().info
    assert not any(check.applies(info) for check in (log_offsets, log_polls, log_sends))


def test_spans_of_many_records() -> None:
    """What is sent and polled in runs is what is sent and polled one by one."""
    log = LogRun()
    log.send(1, 0, records=5)
    row = log.begin("poll", 50)
    log.end(row)
    log.spans.append(
        {"op_id": row["op_id"], "key": "t-0", "sent": False, "value": 1, "offset": 0}
        | {"records": 5, "epoch": 0, "high_watermark": 4}
    )
    polled = log_polls(log.run())
    assert polled is not None
    assert polled.looked_at == 5
    assert polled.facts == {"poll-past-high-watermark": 1}
    log.spans[-1]["high_watermark"] = 5
    polled = log_polls(log.run())
    assert polled is not None
    assert polled.verdict is VALID
