"""Unclean recovery: what the replicas answered, and which was elected (KIP-966, part two)."""

import json
import random
from typing import Any

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail

RECOVERY = "unclean-recovery"
E10, E8 = "E10-best-replica-is-elected", "E8-nobody-else-is-elected"
# In words of p.asked, those of an answer in c.recovered.
_ASKED = {"last_epoch": "last_written", "broker_epoch": "broker_epoch", "end": "end"}


def elected(run: Altered) -> Row:
    return first(run.events("c.recovered"), "no controller recovered a partition")


def answers(run: Altered) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = detail(elected(run))["answers"]
    return found


def an_other(run: Altered, rng: random.Random) -> int:
    """One that answered, and was not elected."""
    others = [one["id"] for one in answers(run) if one["id"] != elected(run)["leader"]]
    if not others:
        raise NotHere("no other replica answered")
    return int(rng.choice(others))


def of_winner(run: Altered) -> dict[str, Any]:
    row = elected(run)
    return next(one for one in answers(run) if one["id"] == row["leader"])


def answer_otherwise(run: Altered, node: int, **fields: int) -> None:
    """The broker told that, and the controller went by it."""
    row = elected(run)
    told = [{**one, **fields} if one["id"] == node else one for one in answers(run)]
    set_detail(row, answers=told)
    for asked in run.events("p.asked", node=node, epoch=row["epoch"]):
        if "end" in fields:
            asked["log_end"] = fields["end"]
        rest = {_ASKED[name]: value for name, value in fields.items() if name != "end"}
        if rest:
            set_detail(asked, **rest)


@lie(E10, of=RECOVERY)
def an_other_replica_had_more(run: Altered, rng: random.Random) -> None:
    """Of the same leader epoch, its log is longer by one record than the one that was elected."""
    answer_otherwise(run, an_other(run, rng), end=of_winner(run)["end"] + 1)


@lie(E10, of=RECOVERY)
def an_other_replica_was_of_a_later_epoch(run: Altered, rng: random.Random) -> None:
    """Its log is shorter, and its last record is of a later leader epoch."""
    answer_otherwise(run, an_other(run, rng), end=1, last_epoch=of_winner(run)["last_epoch"] + 1)


@lie(E10, of=RECOVERY)
def an_answer_of_an_earlier_life_was_used(run: Altered, rng: random.Random) -> None:
    """A broker answered, went down, and registered anew before the election."""
    winner = of_winner(run)
    answer_otherwise(run, winner["id"], broker_epoch=winner["broker_epoch"] - 1)


@lie(E10, of=RECOVERY)
def an_answer_was_made_up(run: Altered, rng: random.Random) -> None:
    """The controller went by more than the broker had told."""
    winner = of_winner(run)
    told = [{**one, "end": one["end"] + (one == winner)} for one in answers(run)]
    set_detail(elected(run), answers=told)


@lie(E10, of=RECOVERY)
def an_answer_of_an_earlier_leader_epoch_was_used(run: Altered, rng: random.Random) -> None:
    """The broker that was elected had told of an earlier leader epoch alone."""
    row = elected(run)
    for asked in run.events("p.asked", node=row["leader"], epoch=row["epoch"]):
        asked["epoch"] -= 1


@lie(E10, of=RECOVERY)
def one_that_was_needed_had_not_answered(run: Altered, rng: random.Random) -> None:
    """A Balanced recovery is held without one of those that were eligible last."""
    row = elected(run)
    needed = {one["id"] for one in detail(row)["needed"]} - {row["leader"]}
    lacking = rng.choice(sorted(needed))
    set_detail(row, answers=[one for one in answers(run) if one["id"] != lacking])


@lie(E10, of=RECOVERY)
def no_controller_asked(run: Altered, _: random.Random) -> None:
    """The election is in the log, and no controller traced that it had asked for it."""
    run.drop_events(lambda row: row["event"] == "c.recovered")


@lie(E10, of=RECOVERY)
def an_operator_was_to_decide(run: Altered, _: random.Random) -> None:
    """The strategy that was asked for is None, and a replica was elected before an operator asked
    for it."""
    _strategy(run, "none")


@lie(E8, of=RECOVERY, target=BOTH)
def no_operator_decided(run: Altered, _: random.Random) -> None:
    """The strategy is None, no operator asked for anything, and a replica was elected all the
    same."""
    _strategy(run, "none")
    for fault in run.rows("faults"):
        if fault["kind"] == "elect-leaders":
            fault["params"] = "{}"


@legal(E8, E10, of=RECOVERY)
def an_operator_named_a_leader(run: Altered, _: random.Random) -> None:
    """The strategy is None, no controller asked anything, and an operator named that very
    replica."""
    winner = elected(run)["leader"]
    run.drop_events(lambda row: row["event"] == "c.recovered")
    _strategy(run, "none")
    run.inform(exists_for=())  # no election is left to compare
    for fault in run.rows("faults"):
        if fault["kind"] == "elect-leaders":
            fault["nodes"] = [winner]
            fault["params"] = json.dumps({"election": "designation"})


@legal(E10, of=RECOVERY)
def an_other_replica_had_as_much(run: Altered, rng: random.Random) -> None:
    """Of equal logs either may be elected."""
    winner = of_winner(run)
    other = an_other(run, rng)
    answer_otherwise(run, other, end=winner["end"], last_epoch=winner["last_epoch"])


@legal(E10, of=RECOVERY)
def an_earlier_answer_told_of_more(run: Altered, rng: random.Random) -> None:
    """In an earlier leader epoch a replica was asked too, and its log was longer then."""
    node = an_other(run, rng)
    asked = first(run.events("p.asked", node=node), "it was not asked")
    earlier = {**asked, "epoch": asked["epoch"] - 1, "log_end": asked["log_end"] + 1000}
    run.insert_event(earlier, asked)


@legal(E8, of=RECOVERY, target=BOTH)
def any_replica_was_to_be_elected(run: Altered, _: random.Random) -> None:
    """The strategy that was asked for is Aggressive: it may elect the same one."""
    _strategy(run, "aggressive")


def _strategy(run: Altered, strategy: str) -> None:
    run.inform(settings={**run.info.settings, "recovery": strategy})
