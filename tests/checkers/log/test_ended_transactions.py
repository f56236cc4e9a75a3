"""Readers of committed transactions, in histories by hand."""

import pytest

from checkers.log.looked_up import STANDS_FOR_S, ended_transactions_are_over
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, op
from tests.support.kafka_runs import Cluster

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
LONG = int(STANDS_FOR_S * 1000) + 1
KEY, OWNER = "t-0", "mine"


class _History:
    """Operations one after another, a millisecond each; `at` where it takes longer."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.now = 0

    def send(self, offset: int) -> "_History":
        return self._last(self.cluster.sent(KEY, offset, offset, 1))

    def reads(self, records: int) -> "_History":
        self._last(self.cluster.polled(KEY, 0, 0, records))
        self.cluster.rows["ops"][-1]["phase"] = "final"
        return self

    def init(self, owner: str = OWNER, outcome: str = "ok") -> "_History":
        return self._tell("init-transactions", owner, None, outcome)

    def told(self, committed: int | None, owner: str = OWNER, outcome: str = "ok") -> "_History":
        return self._tell("is-committed", owner, committed, outcome)

    def end(self, offset: int | None, later_ms: int = 0, outcome: str = "ok") -> "_History":
        self.now += later_ms
        return self._tell("committed-end", KEY, offset, outcome)

    def _tell(self, f: str, key: str, value: int | None, outcome: str) -> "_History":
        row = op(f, value, 0, 1, key=key, outcome=outcome, phase="final")
        return self._last(self.cluster.add("ops", row | {"op_id": len(self.cluster.rows["ops"])}))

    def _last(self, cluster: Cluster) -> "_History":
        row = cluster.rows["ops"][-1]
        row["t0"], row["t1"] = self.now * MS, self.now * MS + MS // 2
        row["invoke_index"], row["complete_index"] = 2 * self.now, 2 * self.now + 1
        self.now += 1
        return self

    def judged(self) -> CheckResult:
        return ended_transactions_are_over(self.cluster.run())


def read_all() -> _History:
    return _History().send(0).send(1).send(2).reads(3)


def test_readers_that_stand_still_behind_what_was_ended() -> None:
    found = read_all().init().end(1).end(1, LONG).judged()
    assert found.verdict is INVALID
    assert "hanging transaction in t-0" in found.message
    assert "up to offset 1 of 3" in found.message
    assert [event["what"] for event in found.witness] == [
        "init-transactions",
        "committed-end",
        "committed-end",
    ]


@pytest.mark.parametrize(
    ("history", "owners"),
    [
        (read_all().told(1).init().end(1).end(1, LONG), 1),
        (read_all().told(None, outcome="info").told(1).init().end(1).end(1, LONG), 1),
        (read_all().told(1).told(1, "b").init().init("b").end(1).end(1, LONG), 2),
        (read_all().told(0).init().end(1).end(1, LONG), 0),
        (read_all().told(1).init().init("b").end(1).end(1, LONG), 0),
        (read_all().told(1).told(0, "b").init().init("b").end(1).end(1, LONG), 0),
    ],
)
def test_that_coordinators_call_all_committed_is_told(history: _History, owners: int) -> None:
    found = history.judged()
    assert (found.verdict, "called committed" in found.message) == (INVALID, owners > 0)
    assert [event["what"] for event in found.witness].count("is-committed") == owners


@pytest.mark.parametrize(
    ("history", "verdict", "said"),
    [
        (read_all().init().end(3), VALID, "can be read to the end"),
        (read_all().init().end(4), VALID, "can be read to the end"),  # a marker behind it
        (read_all().init().end(1).end(1, LONG).end(3), VALID, "can be read to the end"),
        (read_all().end(1).init().end(3, LONG), VALID, "can be read to the end"),
        # What was acknowledged and is lost holds nobody up.
        (_History().send(0).send(1).reads(1).init().end(1).end(1, LONG), VALID, "to the end"),
        (read_all(), UNKNOWN, "needs operations on transactions"),
        (read_all().init().end(1).end(1, LONG // 2), UNKNOWN, "was not asked for 3 s"),
        # An answer from before the last of them was ended says nothing of it.
        (read_all().init().end(1).init("other").end(1, LONG), UNKNOWN, "was not asked for 3 s"),
        (
            read_all().init().init("other", "info").end(1).end(1, LONG),
            UNKNOWN,
            "other was never initialised again",
        ),
        (read_all().init().send(3).end(1).end(1, LONG), UNKNOWN, "sent something afterwards"),
        (read_all().init().end(None, 0, "fail"), UNKNOWN, "no answer says how far"),
    ],
)
def test_whoever_is_not_shown_to_stand_still_is_not_accused(
    history: _History, verdict: Verdict, said: str
) -> None:
    found = history.judged()
    assert (found.verdict, said in found.message) == (verdict, True), found.message
