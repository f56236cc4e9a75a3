"""What brokers and leaders tell whoever asks them: of partitions, of voters, of the epoch."""

import json
import random

from tests.lies.alteration import BOTH, NOT_GREEN, UNTRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row, first

_SECOND = 1_000_000_000
_PARTITIONS = ("last-replica-standing", "blackout-brokers")
_SAID = ("leader", "epoch", "isr", "elr", "last_known_elr")


def _answers(run: Altered, **equal: object) -> list[Row]:
    found = run.where("probes", kind="partition", **equal)
    return sorted(found, key=lambda row: (row["t0"], row["node"]))


def _changes_of_mind(run: Altered) -> list[tuple[Row, Row]]:
    """Answers of one node about one partition, of which the second says something else."""
    found, last = [], dict[tuple[int, str], Row]()
    for row in _answers(run):
        at = (row["node"], row["key"])
        if at in last and any(last[at][name] != row[name] for name in _SAID):
            found.append((last[at], row))
        last[at] = row
    if not found:
        raise NotHere("no broker that tells of a change")
    return found


def _last_changes(run: Altered) -> list[tuple[Row, Row]]:
    """Of the broker that told of a change last: all that it told of in that answer, or another
    partition of the answer would show that the broker had heard of it."""
    changes = _changes_of_mind(run)
    last = changes[-1][1]
    at = last["node"], last["t0"]
    return [each for each in changes if (each[1]["node"], each[1]["t0"]) == at]


def _says(row: Row, other: Row) -> None:
    row.update({name: other[name] for name in _SAID})


# --- partitions ---


@lie("told-partitions-were", of=_PARTITIONS, target=BOTH)
def a_broker_tells_an_isr_that_never_was(run: Altered, rng: random.Random) -> None:
    """One of three is in the ISR, and nobody in the ELR."""
    row = rng.choice([row for row in _answers(run) if len(row["isr"]) > 1])
    row.update(isr=row["isr"][-1:], elr=[], last_known_elr=[])


@lie("told-partitions-were", of=_PARTITIONS, target=BOTH)
def a_broker_tells_of_an_epoch_that_never_was(run: Altered, rng: random.Random) -> None:
    """It leads itself, in an epoch far ahead."""
    row = rng.choice(_answers(run))
    row.update(epoch=row["epoch"] + 90, leader=row["node"])


@lie("told-partitions-were", of=_PARTITIONS, target=BOTH)
def a_broker_goes_back(run: Altered, rng: random.Random) -> None:
    """After it has told of a change, it tells what was before that."""
    before, after = rng.choice(_changes_of_mind(run))
    same = _answers(run, node=after["node"], key=after["key"])
    later = [row for row in same if row["t0"] > after["t0"]]
    _says(first(later, "no later answer"), before)


@lie("told-partitions-were", of="blackout-brokers", target=BOTH)
def a_broker_keeps_quiet_about_a_leader(run: Altered, rng: random.Random) -> None:
    """It says that there is none, while the leader is well."""
    led = [row for row in _answers(run) if row["leader"] > 0 and len(row["isr"]) == 3]
    rng.choice(led)["leader"] = -1


@legal("told-partitions-were", "P18-told-partitions-are-new", of=_PARTITIONS, target=BOTH)
def a_broker_is_a_little_behind(run: Altered, rng: random.Random) -> None:
    """It tells of a change one answer later than it did."""
    _, after = rng.choice(_changes_of_mind(run))
    for row in _answers(run, node=after["node"], t0=after["t0"]):
        same = _answers(run, node=row["node"], key=row["key"])
        earlier = [each for each in same if each["t0"] < row["t0"]]
        if earlier:
            _says(row, earlier[-1])


@legal("told-partitions-were", of=_PARTITIONS, target=BOTH)
def an_isr_in_another_order(run: Altered, rng: random.Random) -> None:
    """A broker names the members of an ISR the other way round."""
    row = rng.choice([row for row in _answers(run) if len(row["isr"]) > 1])
    row["isr"] = row["isr"][::-1]


def _long_after(run: Altered, seconds: int = 30) -> list[Row]:
    """Every broker is asked again for so long, and says what it said last."""
    rows = run.rows("probes")
    last: dict[tuple[int, str], Row] = {}
    for row in _answers(run):
        last[row["node"], row["key"]] = row
    end = max(row["t1"] for row in last.values())
    new = [
        {**row, "t0": end + n * _SECOND, "t1": end + n * _SECOND + 2_000_000}
        for n in range(1, seconds + 1)
        for row in last.values()
    ]
    rows += new
    run.inform(duration_ns=max(run.info.duration_ns, end + (seconds + 1) * _SECOND))
    return new


@lie("P18-told-partitions-are-new", of=_PARTITIONS, target=BOTH)
def a_broker_never_hears_of_the_last_change(run: Altered, _: random.Random) -> None:
    """For the rest of the run, and long after everything was healed."""
    _long_after(run)
    for before, after in _last_changes(run):
        for row in _answers(run, node=after["node"], key=after["key"]):
            if row["t0"] >= after["t0"]:
                _says(row, before)


@lie("P18-told-partitions-are-new", of=_PARTITIONS, target=BOTH)
def a_broker_hears_of_the_last_change_too_late(run: Altered, _: random.Random) -> None:
    """Half a minute later, with nothing wrong."""
    until = max(row["t0"] for row in _long_after(run))
    for before, after in _last_changes(run):
        for row in _answers(run, node=after["node"], key=after["key"]):
            if after["t0"] <= row["t0"] < until:
                _says(row, before)


@legal("P18-told-partitions-are-new", of=_PARTITIONS, target=UNTRACED)
def brokers_are_asked_long_after(run: Altered, _: random.Random) -> None:
    """And all of them say what they said last."""
    _long_after(run)


def _short_isr(rows: list[Row], rng: random.Random) -> list[Row]:
    """Of one partition: its leader says that it is alone in the ISR, and so does every broker."""
    key = rng.choice(sorted({row["key"] for row in rows if row["leader"] > 0}))
    found = [row for row in rows if row["key"] == key]
    for row in found:
        row["isr"] = [row["leader"]]
    return found


@lie("P18-isrs-become-whole", of=_PARTITIONS, target=BOTH)
def an_isr_never_grows_again(run: Altered, rng: random.Random) -> None:
    """All replicas run, and nothing is wrong for a minute."""
    _short_isr(_long_after(run, 60), rng)


@lie("P18-isrs-become-whole", of=_PARTITIONS, target=BOTH)
def an_isr_grows_again_too_late(run: Altered, rng: random.Random) -> None:
    """Three quarters of a minute later, with nothing wrong."""
    told = _long_after(run, 60)
    late = min(row["t0"] for row in told) + 45 * _SECOND
    _short_isr([row for row in told if row["t0"] < late], rng)


@legal("P18-isrs-become-whole", of=_PARTITIONS, target=BOTH)
def isrs_stay_whole(run: Altered, _: random.Random) -> None:
    """For a minute after everything was healed."""
    _long_after(run, 60)


@legal("P18-isrs-become-whole", of=_PARTITIONS, target=BOTH)
def isrs_whose_members_are_told_the_other_way_round(run: Altered, _: random.Random) -> None:
    """For a minute after everything was healed."""
    for row in _long_after(run, 60):
        row["isr"] = row["isr"][::-1]


# --- nodes that say nothing ---


@lie("evidence-complete", of=_PARTITIONS, target=BOTH, want=NOT_GREEN)
def a_broker_answers_nothing(run: Altered, rng: random.Random) -> None:
    """Though it was asked all the while."""
    node = rng.choice(sorted({row["node"] for row in _answers(run)}))
    run.keep("probes", lambda row: row["node"] != node)


@lie("evidence-complete", of=_PARTITIONS, target=BOTH, want=NOT_GREEN)
def brokers_fall_silent(run: Altered, rng: random.Random) -> None:
    """A moment after the first answer, all of them, for good."""
    since = min(row["t0"] for row in _answers(run)) + rng.randrange(_SECOND)
    run.keep("probes", lambda row: row["t0"] < since)


@legal("evidence-complete", of=_PARTITIONS, target=BOTH)
def a_broker_misses_a_question(run: Altered, rng: random.Random) -> None:
    """One answer of it is not there."""
    gone = rng.choice(_answers(run))
    run.keep("probes", lambda row: (row["t0"], row["node"]) != (gone["t0"], gone["node"]))


@legal("evidence-complete", of="last-replica-standing", target=BOTH)
def a_broker_that_is_cut_off_does_not_answer(run: Altered, _: random.Random) -> None:
    """As long as the fault lasts."""
    cut = first(run.where("faults", cuts=True), "nobody was cut off")
    begin, end, nodes = cut["t_start"], cut["t_healed"], cut["nodes"]
    run.keep("probes", lambda row: not (row["node"] in nodes and begin <= row["t0"] <= end))


# --- voters ---

_VOTERS = ("changing-voters", "membership-churn")


def _told_voters(run: Altered) -> list[tuple[int, Row, list[str]]]:
    """Answers of leaders to whoever asked: when they were asked, the row, and the voters."""
    found = [(row["t0"], row, row["voters"]) for row in run.ops(f="describe-quorum", outcome="ok")]
    probes = [row for row in run.where("probes", kind="quorum") if row["detail"]]
    found += [(row["t0"], row, json.loads(row["detail"])["voters"]) for row in probes]
    found = [each for each in found if each[2]]
    if not found:
        raise NotHere("no leader told who votes")
    return sorted(found, key=lambda each: (each[0], each[1]["node"]))


def _names(row: Row, voters: list[str]) -> None:
    if "voters" in row:
        row["voters"] = voters
    else:
        row["detail"] = json.dumps({"voters": voters})


@lie("told-voters-were", of=_VOTERS, target=BOTH)
def a_leader_tells_of_a_node_that_there_is_not(run: Altered, rng: random.Random) -> None:
    """A node that there is not."""
    _, row, voters = rng.choice(_told_voters(run))
    _names(row, [*voters, "9:AAAAAAAAAAAAAAAAAAAAAg"])


@lie("told-voters-were", "voters-as-told", of=_VOTERS, target=BOTH)
def a_voter_has_another_disk(run: Altered, rng: random.Random) -> None:
    """Of one voter the leader tells the directory of another node."""
    told = [each for each in _told_voters(run) if len(each[2]) > 1]
    _, row, voters = rng.choice(told)
    node, _, directory = voters[0].partition(":")
    _names(row, [f"{node}:{directory[::-1]}", *voters[1:]])


@legal("told-voters-were", "voters-as-told", of=_VOTERS, target=BOTH)
def voters_in_another_order(run: Altered, rng: random.Random) -> None:
    """A leader names the voters the other way round."""
    _, row, voters = rng.choice(_told_voters(run))
    _names(row, voters[::-1])


@legal("told-voters-were", "voters-as-told", of="changing-voters", target=BOTH)
def a_leader_answers_later(run: Altered, rng: random.Random) -> None:
    """By a millisecond."""
    rng.choice(run.ops(f="describe-quorum", outcome="ok"))["t1"] += 1_000_000


@lie("told-voters-were", of="changing-voters", target=BOTH)
def another_node_tells_who_votes(run: Altered, rng: random.Random) -> None:
    """As the leader of an epoch that another one led."""
    row = rng.choice([r for r in run.ops(f="describe-quorum", outcome="ok") if r["voters"]])
    row["node"] = row["node"] % run.info.nodes + 1


@lie("told-voters-were", of="membership-churn", target=BOTH)
def a_leader_leads_an_earlier_epoch_again(run: Altered, _: random.Random) -> None:
    """It tells of the epoch that it led first, after it has told of a later one."""
    by_node: dict[int, list[Row]] = {}
    for row in (told[1] for told in _told_voters(run)):
        by_node.setdefault(row["node"], []).append(row)
    for rows in by_node.values():
        column = "epoch" if "detail" in rows[0] else "value"
        if rows[0][column] < rows[-1][column]:
            again = rows[-1] | {"t0": rows[-1]["t1"] + 1, "t1": rows[-1]["t1"] + 2}
            run.rows("probes").append(again | {column: rows[0][column]})
            return
    raise NotHere("no node led twice")
