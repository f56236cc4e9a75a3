"""Transformations in transactions: what is processed twice, or not at all, or though aborted."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, Row
from tests.lies.derived import SECOND, operation

ONCE = "each-record-is-processed-once"
BASE = "transformed"


def of(run: Altered, f: str, outcome: str = "ok") -> list[Row]:
    return run.ops(f=f, outcome=outcome)


def group_has_come_to(run: Altered) -> Row:
    return of(run, "processed-up-to")[0]


def again(run: Altered, row: Row, request: int) -> None:
    at = row["t0"] + 1
    operation(run, row["f"], row["key"], row["value"], at, request=request, phase=row["phase"])


@lie(ONCE, of=BASE, target=BOTH)
def processed_by_two_transactions(run: Altered, rng: random.Random) -> None:
    """A member that fell silent committed after all: two transactions processed a record."""
    row = rng.choice(of(run, "processed"))
    operation(run, "transform", row["key"], row["value"], SECOND, request=99)
    again(run, row, 99)


@lie(ONCE, of=BASE, target=BOTH)
def a_record_was_skipped(run: Altered, rng: random.Random) -> None:
    """The group has come past a record that no committed transaction processed: what it put out
    was lost, and the group's offset was not."""
    gone = rng.choice(of(run, "processed"))
    run.keep("ops", lambda row: row is not gone)


@lie(ONCE, of=BASE, target=BOTH)
def an_aborted_transaction_is_read(run: Altered, rng: random.Random) -> None:
    """Readers of committed transactions are given a record of one that was aborted; the one that
    processed that record instead is not."""
    aborted = rng.choice(of(run, "transform", "fail"))
    for row in run.ops(f="processed", key=aborted["key"], value=aborted["value"]):
        row["request"] = aborted["request"]


@lie(ONCE, of=BASE, target=BOTH)
def the_group_forgot_how_far_it_came(run: Altered, rng: random.Random) -> None:
    """What the last transaction put out stands, and its offset does not."""
    group_has_come_to(run)["value"] -= 3


@lie(ONCE, of=BASE, target=BOTH)
def a_transaction_in_doubt_is_torn(run: Altered, rng: random.Random) -> None:
    """Of a transaction that nobody knows the fate of, one record is there."""
    number = of(run, "transform", "info")[0]["request"]
    written = [row for row in of(run, "processed") if row["request"] == number]
    last = max(row["value"] for row in written)
    gone = [row for row in written if row["value"] == last]
    run.keep("ops", lambda row: row not in gone)


@legal(ONCE, of=BASE, target=BOTH)
def the_last_is_in_doubt(run: Altered, rng: random.Random) -> None:
    """Nobody told the member of the last transaction that it is committed; it is."""
    last = max(row["request"] for row in of(run, "transform"))
    for row in run.ops(f="transform", request=last):
        row.update(outcome="info", error="timed-out")


@legal(ONCE, of=BASE, target=BOTH)
def the_last_in_doubt_does_not_stand(run: Altered, rng: random.Random) -> None:
    """Nobody told the member of the last transaction that it is committed; nothing of it is."""
    the_last_is_in_doubt(run, rng)
    last = max(row["request"] for row in run.ops(f="transform", outcome="info"))
    run.keep("ops", lambda row: not (row["f"] == "processed" and row["request"] == last))
    group_has_come_to(run)["value"] -= 3


@legal(ONCE, of=BASE, target=BOTH)
def one_more_was_aborted(run: Altered, rng: random.Random) -> None:
    """A member had begun with what another one processed, and aborted."""
    row = rng.choice(of(run, "processed"))
    fate = {"outcome": "fail", "error": "aborted"}
    operation(run, "transform", row["key"], row["value"], 2 * SECOND, request=99, **fate)
