"""Transformations of a log in transactions, in histories by hand."""

import pytest

from checkers.log.processed_once import each_is_processed_once
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, op
from tests.support.kafka_runs import Cluster

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
KEY, OUTPUT = "t-0", "out-0"


class _History:
    """Operations one after another, a millisecond each."""

    def __init__(self) -> None:
        self.cluster = Cluster()

    def transaction(
        self, number: int, offsets: range, outcome: str = "ok", key: str = KEY
    ) -> "_History":
        for offset in offsets:
            self._tell("transform", key, offset, outcome, number)
        return self

    def output(self, number: int, offsets: range, key: str = KEY) -> "_History":
        for offset in offsets:
            self._tell("processed", key, offset, "ok", number)
        return self

    def commits(self, number: int, offsets: range) -> "_History":
        """And it stands."""
        return self.transaction(number, offsets).output(number, offsets)

    def read(self) -> "_History":
        return self._tell("processed-end", OUTPUT, 99, "ok", None)

    def come_to(self, offset: int, key: str = KEY) -> "_History":
        return self._tell("processed-up-to", key, offset, "ok", None)

    def _tell(self, f: str, key: str, value: int, outcome: str, request: int | None) -> "_History":
        number = len(self.cluster.rows["ops"])
        row = op(f, value, 2 * number, 2 * number + 1, key=key, outcome=outcome)
        self.cluster.add("ops", row | {"op_id": number, "request": request, "t0": number * MS})
        return self

    def judged(self, **info: object) -> CheckResult:
        return each_is_processed_once(self.cluster.run(**info))


def sound() -> _History:
    """Two transactions of two records, an aborted one and one in doubt between them."""
    history = _History().commits(0, range(2)).transaction(1, range(2, 4), "fail")
    return history.transaction(2, range(2, 4), "info").commits(3, range(2, 4))


def test_each_record_that_the_group_has_come_past_is_processed_once() -> None:
    found = sound().read().come_to(4).judged()
    assert (found.verdict, found.looked_at) == (VALID, 4)
    assert found.facts == {"committed": 2, "aborted": 1, "in_doubt": 1}


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (sound().transaction(4, range(4, 5), "info").output(4, range(4, 5)), "come to 4"),
        (_History().commits(0, range(2)).commits(1, range(1, 4)), "processed twice: offset 1 of"),
        (_History().commits(0, range(2)).commits(1, range(3, 4)), "skipped: offset 2 of t-0"),
        (_History().commits(0, range(1, 4)), "skipped: offset 0 of t-0"),
        (_History().commits(0, range(3)), "skipped: offset 3 of t-0"),
        (sound().transaction(4, range(4, 6)), "lost transaction: transaction 4, of 2 records"),
        (sound().transaction(4, range(3), "fail").output(4, range(1)), "aborted transaction"),
        (
            _History()
            .commits(0, range(2))
            .transaction(1, range(2, 4), "info")
            .output(1, range(2, 3)),
            "torn transaction: transaction 1, of 2 records",
        ),
        (sound().output(7, range(1)), "made-up record: transaction 7 never processed t-0"),
        (sound().output(3, range(9, 10)), "made-up record: transaction 3 never processed t-0"),
        (sound().output(3, range(2, 3), "t-1"), "transaction 3 never processed t-1 at offset 2"),
    ],
)
def test_what_is_not_so_is_accused(history: _History, said: str) -> None:
    found = history.read().come_to(4).judged()
    assert found.verdict is INVALID
    assert said in found.message, found.message
    assert found.witness


def test_what_is_in_doubt_may_stand_as_a_whole() -> None:
    history = _History().commits(0, range(2)).transaction(1, range(2, 4), "info")
    assert history.output(1, range(2, 4)).read().come_to(4).judged().verdict is VALID
    rest = _History().commits(0, range(2)).transaction(1, range(2, 4), "info")
    assert rest.read().come_to(2).judged().verdict is VALID


def test_logs_are_judged_by_themselves() -> None:
    history = sound().transaction(9, range(2), key="t-1").output(9, range(2), "t-1")
    assert history.read().come_to(4).come_to(2, "t-1").judged().looked_at == 6


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (_History(), "the committed output was not read to its end"),
        (_History().read().come_to(0), "needs committed transactions"),
        (
            _History().transaction(0, range(2), "fail").read().come_to(0),
            "no transaction was acknowledged as committed",
        ),
        (sound().come_to(4), "the committed output was not read to its end"),
        (sound().read(), "no answer says how far the group has come in t-0"),
    ],
)
def test_what_is_not_there_is_no_proof(history: _History, said: str) -> None:
    found = history.judged()
    assert (found.verdict, said in found.message) == (UNKNOWN, True), found.message


def test_what_was_not_read_to_its_end_accuses_nobody_of_what_is_missing() -> None:
    history = _History().transaction(0, range(4)).output(0, range(1))
    assert history.come_to(4).judged().verdict is UNKNOWN
    assert history.output(0, range(1)).judged().verdict is INVALID  # it is there twice


@pytest.mark.parametrize(
    ("kind", "verdict"), [("power-off", VALID), ("wipe", VALID), ("kill", INVALID)]
)
def test_after_a_fault_that_loses_records_nothing_is_said(kind: str, verdict: Verdict) -> None:
    history = _History().commits(0, range(2)).read().come_to(4)
    history.cluster.ended(kind, 1, 3)
    found = history.judged()
    assert found.verdict is verdict
    assert (f"nothing to judge: records may be lost after {kind}" in found.message) == (
        verdict is VALID
    )


def test_where_unclean_elections_were_asked_for_nothing_is_said() -> None:
    history = _History().commits(0, range(2)).read().come_to(4)
    settings = {"min_isr": "2", "unclean.leader.election.enable": "true"}
    assert "unclean elections" in history.judged(settings=settings).message
