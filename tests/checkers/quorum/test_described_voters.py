"""What leaders tell of the voters, in every way of being wrong."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.history.tables import NO_DIRECTORY, PROBES
from checkers.quorum.described_voters import described_voters_fit_changes
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, Row, make_run, op
from tests.support.voter_logs import log, whole

VALID, INVALID = Verdict.VALID, Verdict.INVALID
ONE, TWO, THREE, NEW = "1:a", "2:b", "3:c", "3:d"
ALL, TWO_LEFT = (ONE, TWO, THREE), (ONE, TWO)


def told(at: int, *voters: str, node: int = 1, epoch: int = 1) -> Row:
    """An answer that took no longer than a millisecond."""
    return {
        "t0": at * MS,
        "t1": at * MS + MS,
        "node": node,
        "kind": "quorum",
        "key": "__cluster_metadata-0",
        "leader": node,
        "epoch": epoch,
        "high_watermark": 9,
        "detail": json.dumps({"voters": list(voters)}),
    }


def described(at: int, *voters: str, node: int = 1, epoch: int = 1, phase: str = "main") -> Row:
    """The same, to a client."""
    asked = op("describe-quorum", epoch, at, at + 1, key="quorum", node=node, phase=phase)
    return {**asked, "voters": list(voters)}


def change(f: str, invoke: int, complete: int | None, key: str = THREE, **rest: object) -> Row:
    return op(f"{f}-voter", None, invoke, complete, key=key, **rest)  # type: ignore[arg-type]  # typed in `op`


def judged(*rows: Row, **info: object) -> CheckResult:
    answers = [row for row in rows if "kind" in row]
    run = make_run(ops=[row for row in rows if "kind" not in row], **info)  # type: ignore[arg-type]  # as there
    probes = pa.Table.from_pylist(answers, schema=PROBES)
    run = replace(run, tables={**run.tables, "probes": probes})
    result = described_voters_fit_changes(run)
    assert result is not None
    return result


REMOVED = (told(1, *ALL), change("remove", 10, 20), told(25, *TWO_LEFT))
GONE_AT_FIVE = (told(1, *ALL, epoch=5), change("remove", 10, 20), told(25, *TWO_LEFT, epoch=5))

FITTING = {
    "nothing changes": (told(1, *ALL), told(5, *ALL), told(9, *ALL, node=2, epoch=2)),
    "removed": REMOVED,
    "removed and added": (*REMOVED, change("add", 30, 40), told(45, *ALL)),
    "before it is acknowledged": (told(1, *ALL), change("remove", 10, 40), told(15, *TWO_LEFT)),
    "nobody knows whether": (
        told(1, *ALL),
        change("remove", 10, None),
        told(50, *TWO_LEFT),
        told(55, *TWO_LEFT),
    ),
    "an answer was lost, and it was done later": (
        told(1, *ALL),
        change("remove", 2, 4, outcome="info"),
        told(10, *ALL),
        told(20, *TWO_LEFT),
    ),
    "cut off with what it had written": (
        told(1, *ALL),
        change("remove", 10, 14, outcome="info"),
        told(20, *TWO_LEFT),
        told(30, *ALL, node=2, epoch=2),
    ),
    "deposed, and does not know it": (
        told(1, *ALL, node=2, epoch=4),
        *GONE_AT_FIVE,
        told(30, *ALL, node=2, epoch=4),
    ),
    "refused by one that is deposed, and does not know it": (
        told(1, *ALL, node=2, epoch=4),
        *GONE_AT_FIVE,
        change("add", 30, 40, node=2, outcome="fail", error="DUPLICATE_VOTER"),
        told(45, *ALL, node=2, epoch=4),
        told(50, *TWO_LEFT, epoch=5),
    ),
    "who acknowledged never led again": (
        told(1, *ALL),
        change("remove", 10, 20),
        told(30, *ALL, node=2, epoch=2),
    ),
    "asked at the same time": (
        told(1, *ALL),
        {**told(2, *TWO_LEFT), "t1": 60 * MS},
        change("remove", 30, 50),
        told(61, *TWO_LEFT),
    ),
    "refused as it is": (
        told(1, *ALL),
        change("add", 10, 20, outcome="fail", error="DUPLICATE_VOTER"),
        change("remove", 30, 40),
        change("remove", 50, 60, outcome="fail", error="VOTER_NOT_FOUND"),
        told(70, *TWO_LEFT),
    ),
    "its node votes by another disk": (
        *REMOVED,
        change("add", 26, 28, key=NEW),
        change("add", 30, 40, outcome="fail", error="DUPLICATE_VOTER"),
        told(50, ONE, TWO, NEW),
    ),
    "it is the last one": (
        told(1, ONE),
        change("remove", 10, 20, key=ONE, outcome="fail", error="VOTER_NOT_FOUND"),
        told(30, ONE),
    ),
    "known by their ids alone": (
        told(1, *(f"{node}:{NO_DIRECTORY}" for node in (1, 2, 3))),
        told(5, *ALL),
    ),
}


@pytest.mark.parametrize("rows", FITTING.values(), ids=FITTING)
def test_what_fits_is_not_accused(rows: tuple[Row, ...]) -> None:
    result = judged(*rows)
    assert result.verdict is VALID
    assert result.count == 0


WRONG = {
    "gone and nobody asked": (told(1, *ALL), told(10, *TWO_LEFT)),
    "there and nobody asked": (told(1, *TWO_LEFT), told(10, *ALL)),
    "another disk and nobody asked": (told(1, *TWO_LEFT), told(10, ONE, TWO, NEW)),
    "asked and surely not done": (
        told(1, *ALL),
        change("remove", 4, 8, outcome="fail", error="error-42"),
        told(10, *TWO_LEFT),
    ),
    "acknowledged, and still there": (told(1, *ALL), change("remove", 10, 20), told(25, *ALL)),
    "added, and not there": (told(1, *TWO_LEFT), change("add", 10, 20), told(25, *TWO_LEFT)),
    "forgotten by the next leader": (*REMOVED, told(40, *ALL, node=2, epoch=2)),
    "done before that was asked for": (
        told(1, *ALL),
        told(10, *TWO_LEFT),
        change("remove", 15, 20),
    ),
    "undone by what had ended before": (
        told(1, *TWO_LEFT),
        change("add", 5, 8),
        change("remove", 10, 20),
        told(25, *TWO_LEFT),
        told(40, *ALL, node=2, epoch=2),
    ),
    "refused as a voter though removed": (
        *REMOVED,
        change("add", 30, 40, outcome="fail", error="DUPLICATE_VOTER"),
    ),
    "refused as none though added": (
        told(1, *TWO_LEFT),
        change("add", 10, 20),
        told(25, *ALL),
        change("remove", 30, 40, outcome="fail", error="VOTER_NOT_FOUND"),
    ),
}


@pytest.mark.parametrize("rows", WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_accused(rows: tuple[Row, ...]) -> None:
    result = judged(*rows)
    assert result.verdict is INVALID
    assert "no client had asked for that since" in result.message
    assert len(result.witness) == 2


def test_the_log_says_in_which_epoch_a_leader_removed_itself() -> None:
    """It never leads again, and no answer of its own says so."""
    rows = (told(1, *ALL, node=3), change("remove", 10, 20, node=3), told(30, *ALL, epoch=2))
    assert judged(*rows).verdict is VALID
    everywhere, keys = (1, 2, 3), [(1, "a"), (2, "b"), (3, "c")]
    records = [*whole(everywhere, 1, keys), *whole(everywhere, 4, keys[:2])]
    batches = log(everywhere, (0, 4, 1), (5, 9, 2))
    assert judged(*rows, batches=batches, records=records).verdict is INVALID


def test_the_contradiction_is_shown() -> None:
    result = judged(*REMOVED, told(40, *ALL, node=2, epoch=2))
    assert result.message == (
        "node 2 says that 3:c is a voter, but no client had asked for that since node 1 said the "
        "opposite"
    )
    assert [event["what"] for event in result.witness] == [
        "it answers a change",
        "it says that it is a voter",
    ]


def test_controllers_that_join_by_themselves_ask_nobody() -> None:
    settings = {"controller.quorum.auto.join.enable": "true"}
    result = judged(told(1, *ALL), told(10, *TWO_LEFT), settings=settings)
    assert result.verdict is VALID
    assert "controllers join by themselves" in result.message


def test_without_answers_there_is_nothing_to_judge() -> None:
    result = judged()
    assert (result.verdict, result.message) == (
        VALID,
        "nothing to judge: no client asked for the voters",
    )


def test_clients_are_told_as_much_as_an_operator() -> None:
    rows = (described(1, *ALL), change("remove", 10, 20), described(25, *TWO_LEFT))
    assert judged(*rows).verdict is VALID
    assert judged(*rows, described(30, *ALL)).verdict is INVALID
    assert judged(*rows, described(30, *ALL, node=2, epoch=2)).verdict is INVALID


def test_what_was_told_before_a_change_that_is_acknowledged_is_committed_with_it() -> None:
    """Nobody knows what became of the removal; but the next change stands behind it."""
    lost = change("remove", 2, 4, outcome="info")
    sealed = (described(1, *ALL), lost, described(10, *TWO_LEFT), change("add", 20, 25, key="4:e"))
    told_after = described(30, *TWO_LEFT, "4:e")
    later = described(40, *ALL, "4:e", node=2, epoch=2)
    undone = described(40, *ALL, node=2, epoch=2)
    assert judged(*sealed[:3], undone).verdict is VALID
    result = judged(*sealed, told_after, later)
    assert result.verdict is INVALID
    assert result.message.startswith("node 2 says that 3:c is a voter")


LOADED = {"load": {"describers": 2}}


def test_clients_that_were_to_ask_have_to_be_told() -> None:
    rows = (described(1, *ALL), change("remove", 10, 20), described(25, *TWO_LEFT))
    final = described(30, *TWO_LEFT, phase="final")
    assert judged(*rows, final, **LOADED).verdict is VALID
    assert judged(*rows, **LOADED).message.endswith(
        "no client was answered about voters once all was healed"
    )
    assert judged(*rows, **LOADED).verdict is Verdict.UNKNOWN
    unread = {**final, "voters": None}
    assert "1 answer about voters named no voters" in judged(*rows, final, unread, **LOADED).message
    assert judged(**LOADED).verdict is Verdict.UNKNOWN
