"""Who votes: what logs hold of it, what leaders tell, what clients asked for."""

import random

from tests.lies.alteration import BOTH, TRACED, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail
from tests.lies.themes.elections import process_of

CHURN = "membership-churn"
CHURNS = ("membership-churn", "changing-voters")


def _as_leader(run: Altered) -> list[tuple[Row, Row]]:
    """Each q.voters line of a leader that wrote that change itself, with the line by which it began
    to lead."""
    found = []
    for row in run.events("q.voters"):
        led = [
            state
            for state in run.events("q.state", node=row["node"], epoch=row["epoch"])
            if process_of(state) == process_of(row) and state["state"] == "leader"
        ]
        if led and led[0]["seq"] < row["seq"]:
            found.append((row, led[0]))
    return found


def _forget_high_watermarks(run: Altered, process: tuple[int, str], since: int, until: int) -> None:
    run.drop_events(
        lambda row: (
            row["event"] == "q.hwm" and process_of(row) == process and since < row["seq"] < until
        )
    )


@lie("V1-one-voter-at-a-time", of=CHURNS, target=BOTH)
def two_voters_change_at_once(run: Altered, rng: random.Random) -> None:
    """A set of voters in all logs lacks two voters of the one before it."""
    offsets = sorted({row["offset"] for row in run.records("KRaftVoters")})
    sizes = [len(detail(run.records("KRaftVoters", offset=o)[0])["voters"]) for o in offsets]
    offset = rng.choice(
        [later for later, before in zip(offsets[1:], sizes, strict=False) if before == 3]
    )
    for row in run.records("KRaftVoters", offset=offset):
        set_detail(row, voters=detail(row)["voters"][:1])


@lie("V2-one-change-uncommitted", of=CHURNS)
def a_change_follows_one_that_is_not_committed(run: Altered, _: random.Random) -> None:
    """A leader changes the voters twice, and commits nothing in between."""
    by_leader: dict[tuple[int, str, int], list[Row]] = {}
    for row, _led in _as_leader(run):
        by_leader.setdefault((*process_of(row), row["epoch"]), []).append(row)
    for (node, incarnation, epoch), rows in by_leader.items():
        start = first(run.records("LeaderChange", epoch=epoch), "no LeaderChange")["offset"]
        later = [row for row in rows if row["offset"] > start + 5]
        if len(later) > 1:
            _forget_high_watermarks(run, (node, incarnation), later[0]["seq"], later[1]["seq"])
            return
    raise NotHere("no leader changed the voters twice")


@lie("V3-epoch-committed-before-change", of=CHURNS)
def a_change_comes_before_the_epoch_is_committed(run: Altered, _: random.Random) -> None:
    """A leader changes the voters before it has committed anything of its epoch."""
    for row, led in _as_leader(run):
        starts = run.records("LeaderChange", epoch=row["epoch"])
        if starts and row["offset"] > starts[0]["offset"] + 3:
            _forget_high_watermarks(run, process_of(row), led["seq"], row["seq"])
            return
    raise NotHere("no leader changed the voters later on")


@lie("V4-voters-of-the-log", of=CHURNS)
def what_was_cut_off_is_not_undone(run: Altered, _: random.Random) -> None:
    """A node cuts off a change of the voters and goes on by it."""
    for cut in run.events("q.truncate"):
        undone = [
            row
            for row in run.events("q.voters", node=cut["node"])
            if process_of(row) == process_of(cut) and row["seq"] > cut["seq"]
        ]
        before = [
            row
            for row in run.events("q.voters", node=cut["node"])
            if process_of(row) == process_of(cut) and row["seq"] < cut["seq"]
        ]
        if undone and before and before[-1]["offset"] >= cut["log_end"]:
            run.drop_events(undone[0].__eq__)
            return
    raise NotHere("no change was cut off")


@lie("V6-committed-by-voters", of=CHURNS)
def a_leader_commits_what_it_has_alone(run: Altered, rng: random.Random) -> None:
    """A leader of three voters calls 50 offsets more committed than any follower fetched."""
    rng.choice(run.events("q.hwm", state="leader", epoch=1))["hwm"] += 50


@lie("V9-removed-leader-resigns", of=("remove-leader", "remove-leader-5"))
def a_removed_leader_commits_on(run: Altered, _: random.Random) -> None:
    """A leader whose removal is committed tells of one more high watermark before it resigns."""
    for resigned in run.events("c.resign"):
        node = resigned["node"]
        moved = [
            row
            for row in run.events("q.hwm", state="leader", node=node)
            if row["seq"] < resigned["seq"] and process_of(row) == process_of(resigned)
        ]
        voters = [
            row
            for row in run.events("q.voters", node=node)
            if row["seq"] < resigned["seq"]
            and process_of(row) == process_of(resigned)
            and node not in [voter["id"] for voter in detail(row)["voters"]]
        ]
        if moved and voters and moved[-1]["hwm"] > voters[-1]["offset"]:
            run.insert_event({**moved[-1], "hwm": moved[-1]["hwm"] + 1}, after=moved[-1])
            return
    raise NotHere("no leader was removed")


@lie("V10-added-when-caught-up", of=("membership-churn", "membership-churn-4"))
def a_voter_is_added_that_lags(run: Altered, rng: random.Random) -> None:
    """Whoever is added had fetched 400 offsets less than its leader had, in the second before."""
    added = rng.choice(run.ops(f="add-voter", outcome="ok"))
    node = int(added["key"].split(":")[0])
    for row in run.events("q.fetch", replica=node):
        if added["t0"] - 1_000_000_000 < row["t"] < added["t1"]:
            row["offset"] = max(0, row["offset"] - 400)


@lie("V5-acknowledged-changes-stay", of=CHURNS, target=BOTH)
def an_acknowledged_change_is_in_no_log(run: Altered, _: random.Random) -> None:
    """A voter was added once more, acknowledged at the end, and no log has it."""
    added = first(run.ops(f="add-voter", outcome="ok"), "nobody was added")
    last = max(row["complete_index"] or 0 for row in run.rows("ops"))
    process = max(row["process"] for row in run.rows("ops")) + 1
    again = {**added, "op_id": 10**6, "process": process}
    end = run.info.duration_ns
    again |= {"t0": end - 2000, "t1": end - 1000}
    run.rows("ops").append({**again, "invoke_index": last + 0.1, "complete_index": last + 0.2})


@lie("voters-as-asked-for", of=CHURN, target=BOTH)
def a_voter_is_removed_that_nobody_removed(run: Altered, rng: random.Random) -> None:
    """All requests to remove one voter were refused, and it was removed."""
    key = rng.choice(run.ops(f="remove-voter", outcome="ok"))["key"]
    for row in run.ops(f="remove-voter", key=key):
        row.update(outcome="fail", error="VOTER_NOT_FOUND")


@lie("V7-one-node-a-directory", of=("membership-churn", "partition-leader"), target=BOTH)
def two_nodes_have_one_directory(run: Altered, rng: random.Random) -> None:
    """Two disks have the same directory id."""
    one, other = rng.sample(run.rows("disks"), 2)
    one["directory"] = other["directory"]


@lie("voters-as-told", of="changing-voters", target=BOTH)
def a_leader_tells_of_a_voter_that_never_was(run: Altered, _: random.Random) -> None:
    """At the end the leader tells of a voter that nobody added."""
    told = run.ops(f="describe-quorum", outcome="ok")[-1]
    told["voters"] = [*told["voters"], "9:AAAAAAAAAAAAAAAAAAAAAQ"]


@lie("one-told-change-undone", of="changing-voters", target=BOTH)
def a_leader_undoes_two_changes(run: Altered, _: random.Random) -> None:
    """The last leader names two voters, by other disks, that no leader named before."""
    told = run.ops(f="describe-quorum", outcome="ok")
    last = max(row["value"] for row in told)
    for row in told:
        if row["value"] == last:
            others = [voter.replace(":", ":Z")[:24] for voter in row["voters"]]
            row["voters"] = others


@lie("stops-without-a-majority", of="disk-loss-majority", target=BOTH)
def something_is_acknowledged_without_a_majority(run: Altered, rng: random.Random) -> None:
    """A write that was invoked 5 s after the majority of disks was lost is acknowledged."""
    lost = max(fault["t_bit"] for fault in run.rows("faults"))
    late = [
        row
        for row in run.ops(f="write", phase="main")
        if row["t0"] > lost + 5_000_000_000 and row["t1"] is not None
    ]
    rng.choice(late).update(outcome="ok", error=None)


@legal("stops-without-a-majority", of="disk-loss-majority", target=BOTH)
def a_write_times_out_without_a_majority(run: Altered, rng: random.Random) -> None:
    """A write that was refused without a majority timed out instead."""
    lost = max(fault["t_bit"] for fault in run.rows("faults"))
    late = [
        row
        for row in run.ops(f="write", phase="main", outcome="fail")
        if row["t0"] > lost + 5_000_000_000 and row["t1"] is not None
    ]
    alone = {row["process"] for row in run.rows("ops") if row["t0"] > lost}
    last = {p: max(r["invoke_index"] for r in run.ops(process=p)) for p in alone}
    ends = [row for row in late if last[row["process"]] == row["invoke_index"]]
    rng.choice(ends).update(outcome="info", error="timed-out")


@lie("M2-equal-voters", of=CHURNS)
def a_node_takes_others_for_voters(run: Altered, rng: random.Random) -> None:
    """A node has other voters than the others from the same record on."""
    rows = [row for row in run.events("q.voters") if len(detail(row)["voters"]) == 3]
    offsets = [row["offset"] for row in rows]
    shared = [row for row in rows if offsets.count(row["offset"]) > 1 and row["offset"] > 10]
    row = rng.choice(shared)
    set_detail(row, voters=detail(row)["voters"][:2])


def _undisturbed(run: Altered, for_ns: int = 0) -> list[Row]:
    """Voters that were added while nothing else was done to the cluster, nor for so long after they
    were asked for."""
    return [
        row
        for row in run.ops(f="add-voter", outcome="ok")
        if not any(
            fault["t_start"] < max(row["t1"], row["t0"] + for_ns) and row["t0"] < fault["t_healed"]
            for fault in run.rows("faults")
        )
    ]


@lie("V11-changes-come-to-an-end", of="changing-voters", target=BOTH)
def a_change_is_never_answered(run: Altered, rng: random.Random) -> None:
    """Clients that asked the leader for a change gave up waiting for its answer."""
    for asked in _undisturbed(run):
        asked.update(outcome="info", error="timed-out", process=asked["process"] + 10**6)


@lie("V11-changes-come-to-an-end", of="changing-voters", target=BOTH)
def a_change_never_comes_back(run: Altered, rng: random.Random) -> None:
    """A client that asked the leader for a change waits for its answer to the end of the run."""
    asked = rng.choice(_undisturbed(run, for_ns=14_000_000_000))
    asked.update(outcome="info", error=None, complete_index=None, t1=None)
    asked["process"] += 10**6


@legal(
    "V1-one-voter-at-a-time",
    "V2-one-change-uncommitted",
    "V3-epoch-committed-before-change",
    "V4-voters-of-the-log",
    "V6-committed-by-voters",
    "V10-added-when-caught-up",
    "M2-equal-voters",
    of=CHURNS,
    target=TRACED,
)
def voters_are_traced_in_another_order(run: Altered, rng: random.Random) -> None:
    """A node names the same voters in another order."""
    row = rng.choice(run.events("q.voters"))
    set_detail(row, voters=detail(row)["voters"][::-1])


@legal("V9-removed-leader-resigns", of="remove-leader")
def a_removed_leader_says_twice_that_it_resigns(run: Altered, rng: random.Random) -> None:
    """A leader traces twice that it resigned."""
    row = rng.choice(run.events("c.resign"))
    run.insert_event(dict(row), after=row)


@legal("V9-removed-leader-resigns", of="remove-leader")
def voters_of_a_removed_leader_in_another_order(run: Altered, rng: random.Random) -> None:
    """A node names the same voters in another order."""
    row = rng.choice(run.events("q.voters"))
    set_detail(row, voters=detail(row)["voters"][::-1])


@legal("voters-as-told", "one-told-change-undone", of="changing-voters", target=BOTH)
def a_leader_names_voters_in_another_order(run: Altered, rng: random.Random) -> None:
    """A leader tells of the same voters in another order."""
    told = rng.choice(run.ops(f="describe-quorum", outcome="ok"))
    told["voters"] = told["voters"][::-1]


@legal(
    "V1-one-voter-at-a-time",
    "V5-acknowledged-changes-stay",
    "V7-one-node-a-directory",
    "V11-changes-come-to-an-end",
    "voters-as-asked-for",
    of=CHURNS,
    target=BOTH,
)
def an_acknowledged_change_timed_out(run: Altered, rng: random.Random) -> None:
    """A change of the voters that was acknowledged is answered by a time-out, and was made."""
    added = rng.choice(run.ops(f="add-voter", outcome="ok"))
    added.update(outcome="info", error="REQUEST_TIMED_OUT", process=10**6)
