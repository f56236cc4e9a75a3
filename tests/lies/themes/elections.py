"""Epochs, votes and leaders of a quorum, as nodes trace them and as their disks hold them."""

import random

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, NotHere, Row, detail, first, set_detail

QUORUM = "partition-leader"
QUORUMS = ("partition-leader", "kill-leader")
SECOND = 1_000_000_000


def process_of(row: Row) -> tuple[int, str]:
    return row["node"], row["incarnation"]


def last_epoch(run: Altered) -> int:
    return int(max(row["epoch"] for row in run.events("q.state", state="leader")))


def another_node(run: Altered, rng: random.Random, *but: int) -> int:
    return rng.choice([node for node in run.nodes if node not in but])


# --- epochs ---


@lie("Q1-monotonic-epoch", of=("kill-leader", "power-off"))
def a_restarted_node_knows_an_older_epoch(run: Altered, rng: random.Random) -> None:
    """A process begins in an older epoch than the one before it on that disk was in."""
    again = [row for row in run.events("n.start") if row["epoch"] > 0]
    rng.choice(again)["epoch"] -= 1


@lie("Q1-monotonic-epoch", of=QUORUMS, target=BOTH)
def a_disk_forgot_its_epoch(run: Altered, rng: random.Random) -> None:
    """The quorum-state on a disk is of an epoch before that of the last record in its log."""
    row = rng.choice(run.rows("disks"))
    row.update(epoch=row["epoch"] - 1, voted=-1, voted_directory=None, leader=-1)


@legal("Q1-monotonic-epoch", "epochs-have-an-origin", of=QUORUMS)
def a_node_says_twice_where_it_is(run: Altered, rng: random.Random) -> None:
    """A follower traces its state once more, unchanged."""
    row = rng.choice(run.events("q.state", state="follower"))
    run.insert_event(dict(row), after=row)


@lie("Q2-one-leader-per-epoch", of=QUORUMS)
def two_nodes_lead_one_epoch(run: Altered, rng: random.Random) -> None:
    """A follower says that it leads the epoch in which it follows another node."""
    following = [r for r in run.events("q.state", state="follower") if r["leader"] > 0]
    row = rng.choice(following)
    run.insert_event({**row, "state": "leader", "leader": row["node"]}, after=row)


@lie("Q2-one-leader-per-epoch", of=QUORUMS, target=BOTH)
def a_disk_names_another_leader(run: Altered, rng: random.Random) -> None:
    """The quorum-state on one disk names another leader of its epoch than the log does."""
    row = rng.choice([disk for disk in run.rows("disks") if disk["leader"] > 0])
    row["leader"] = another_node(run, rng, row["leader"])


@legal("Q2-one-leader-per-epoch", "Q3-one-vote-per-epoch", of=QUORUMS, target=BOTH)
def a_disk_names_no_leader(run: Altered, rng: random.Random) -> None:
    """A disk knows its epoch and not yet who leads it."""
    rng.choice(run.rows("disks"))["leader"] = -1


@lie("Q17-no-leader-again", of=("kill-leader", "power-off"))
def a_process_leads_where_its_predecessor_led(run: Altered, rng: random.Random) -> None:
    """A process that was started anew leads the epoch that its predecessor led."""
    for start in run.events("n.start"):
        before = [
            row
            for row in run.events("q.state", state="leader", node=start["node"])
            if row["incarnation"] != start["incarnation"] and row["t"] < start["t"]
        ]
        if before:
            again = {**before[-1], "incarnation": start["incarnation"], "t": start["t"] + 1}
            run.insert_event(again, after=start)
            return
    raise NotHere("no leader was started anew")


@legal("Q17-no-leader-again", "Q2-one-leader-per-epoch", of=("kill-leader", "power-off"))
def a_leader_says_twice_that_it_leads(run: Altered, rng: random.Random) -> None:
    """A leader traces once more, in the same process, that it leads."""
    row = rng.choice(run.events("q.state", state="leader"))
    run.insert_event(dict(row), after=row)


# --- votes ---


@lie("Q3-one-vote-per-epoch", of=QUORUMS, target=BOTH)
def a_disk_voted_for_another_candidate(run: Altered, rng: random.Random) -> None:
    """A disk holds a vote in its epoch for a candidate other than the one whose LeaderChange names
    it among the voters that granted theirs."""
    granted = {
        (row["epoch"], voter["voterId"])
        for row in run.records("LeaderChange")
        for voter in detail(row)["grantingVoters"]
    }
    disk = rng.choice(
        [
            row
            for row in run.rows("disks")
            if row["voted"] > 0 and (row["epoch"], row["node"]) in granted
        ]
    )
    other = another_node(run, rng, disk["voted"], disk["node"])
    directory = next(row["directory"] for row in run.where("disks", node=other))
    disk.update(voted=other, voted_directory=directory)


@lie("Q3-one-vote-per-epoch", of=QUORUMS)
def a_node_votes_twice(run: Altered, rng: random.Random) -> None:
    """A node grants a second vote in an epoch, to another candidate."""
    vote = rng.choice(run.events("q.vote", outcome="granted"))
    other = another_node(run, rng, vote["node"], vote["replica"])
    again = {**vote, "replica": other, "replica_directory": "ZZZZZZZZZZZZZZZZZZZZZZ"}
    run.insert_event(again, after=vote)


@lie("Q4-elected-by-a-majority", of=QUORUMS, target=BOTH)
def a_leader_was_elected_by_one_vote(run: Altered, rng: random.Random) -> None:
    """A LeaderChange names one voter of three that granted its vote."""
    epoch = rng.choice([row["epoch"] for row in run.records("LeaderChange")])
    for row in run.records("LeaderChange", epoch=epoch):
        set_detail(row, grantingVoters=detail(row)["grantingVoters"][:1])


@legal("Q3-one-vote-per-epoch", "Q4-elected-by-a-majority", of=QUORUMS)
def a_vote_is_refused_as_well(run: Altered, rng: random.Random) -> None:
    """A voter refuses another candidate after it granted its vote."""
    vote = rng.choice(run.events("q.vote", outcome="granted"))
    other = another_node(run, rng, vote["node"], vote["replica"])
    refused = {**vote, "replica": other, "outcome": "refused"}
    run.insert_event(refused, after=vote)


@legal("Q4-elected-by-a-majority", of=QUORUMS, target=BOTH)
def all_voters_granted_their_votes(run: Altered, rng: random.Random) -> None:
    """A LeaderChange names no voter twice, in another order."""
    epoch = rng.choice([row["epoch"] for row in run.records("LeaderChange")])
    for row in run.records("LeaderChange", epoch=epoch):
        set_detail(row, grantingVoters=detail(row)["grantingVoters"][::-1])


@lie("epochs-have-an-origin", of=QUORUMS)
def an_epoch_comes_from_nowhere(run: Altered, rng: random.Random) -> None:
    """No node traces that it stood for election in the epoch that followed."""
    epoch = last_epoch(run)
    run.drop_events(
        lambda row: (
            row["event"] == "q.state" and row["state"] == "candidate" and row["epoch"] == epoch
        )
    )


@lie("heard-leader-is-kept", of=QUORUMS)
def a_heard_leader_is_left(run: Altered, rng: random.Random) -> None:
    """A follower stands for election 10 ms after it heard its leader."""
    waited = [
        row for row in run.events("q.state", state="prospective") if detail(row)["silent_ns"] > 0
    ]
    set_detail(rng.choice(waited), silent_ns=10_000_000)


@legal("heard-leader-is-kept", "asked-before-standing", of=QUORUMS)
def a_follower_waited_longer(run: Altered, rng: random.Random) -> None:
    """A follower heard nothing for a second more before it stood for election."""
    waited = [
        row for row in run.events("q.state", state="prospective") if detail(row)["silent_ns"] > 0
    ]
    row = rng.choice(waited)
    set_detail(row, silent_ns=detail(row)["silent_ns"] + SECOND)


@lie("asked-before-standing", of=QUORUMS)
def a_candidate_did_not_ask_before(run: Altered, rng: random.Random) -> None:
    """A node raises the epoch without having been a prospective candidate."""
    stood = rng.choice(run.events("q.state", state="candidate"))
    run.drop_events(
        lambda row: (
            row["event"] == "q.state"
            and row["state"] == "prospective"
            and row["node"] == stood["node"]
            and row["seq"] < stood["seq"]
            and row["epoch"] == stood["epoch"] - 1
        )
    )


# --- what leaders do ---


@lie("reads-are-confirmed", of=QUORUMS)
def a_read_is_not_confirmed(run: Altered, rng: random.Random) -> None:
    """A read is answered although no voter was heard since it arrived."""
    set_detail(rng.choice(run.events("c.read")), heard=[])


@legal("reads-are-confirmed", of=QUORUMS)
def a_read_is_confirmed_later(run: Altered, rng: random.Random) -> None:
    """A round of reads took a microsecond more: it arrived a microsecond earlier."""
    row = rng.choice(run.events("c.read"))
    set_detail(row, arrived=detail(row)["arrived"] - 1000)


@legal("reads-are-confirmed", of="baseline")
def a_read_is_confirmed_by_all(run: Altered, rng: random.Random) -> None:
    """A read was confirmed by one voter, and that one was heard twice."""
    row = rng.choice(run.events("c.read"))
    set_detail(row, heard=detail(row)["heard"] * 2)


@lie("M2-active-after-replay", of=QUORUMS)
def a_controller_is_active_too_early(run: Altered, rng: random.Random) -> None:
    """A controller is active before it has replayed its epoch's LeaderChange."""
    first(run.events("c.active", epoch=last_epoch(run)), "nobody active")["offset"] = 3


@legal("M2-active-after-replay", of=QUORUMS)
def a_controller_is_active_a_record_later(run: Altered, rng: random.Random) -> None:
    """A controller replayed one record more before it was active."""
    rng.choice(run.events("c.active"))["offset"] += 1


@lie("Q22-cut-off-leader-resigns", of=(QUORUM, "minority-of-two"))
def a_leader_that_is_cut_off_appends_after_seven_seconds(run: Altered, _: random.Random) -> None:
    """The cut holds for 8 s, and the old leader appends 7 s after it began."""
    fault = first(run.rows("faults"), "no cut")
    node = fault["nodes"][0]
    fault["t_heal"] = fault["t_bit"] + 8 * SECOND
    fault["t_healed"] = fault["t_heal"] + 1_000_000
    events = run.rows("node_events")
    resigned = next(
        index
        for index, row in enumerate(events)
        if row["node"] == node
        and row["event"] == "q.state"
        and row["t"] > fault["t_bit"]
        and row["state"] != "leader"
    )
    last = run.events("q.append", state="leader", node=node)[-1]
    end = last["last"] + 1
    late = {**last, "t": fault["t_bit"] + 7 * SECOND, "base": end, "last": end}
    events.insert(resigned, late)
    for row in events[resigned + 1 :]:
        if row["node"] == node:
            row["t"] = max(row["t"], late["t"] + 1)


@lie("Q21-a-majority-elects", of=("partition-leader", "kill-leader"))
def no_leader_commits_after_the_cure(run: Altered, _: random.Random) -> None:
    """All is healed, the run goes on for 20 s more, and no leader commits anything in them."""
    over = max(fault["t_healed"] for fault in run.rows("faults"))
    run.inform(duration_ns=run.info.duration_ns + 20 * SECOND)
    run.drop_events(
        lambda row: row["event"] == "q.hwm" and row["state"] == "leader" and row["t"] >= over
    )


@lie("Q23-return-without-disturbance", of=("flapping-follower", "flapping-follower-4"))
def one_that_was_cut_off_forces_an_election(run: Altered, rng: random.Random) -> None:
    """A node raises the epoch alone while it is cut off, and when it is back another node follows
    it into that epoch."""
    fault = rng.choice(run.rows("faults"))
    (victim,) = fault["nodes"]
    other = another_node(run, rng, victim)
    ours = [row for row in run.rows("node_events") if row["t"] < fault["t_heal"]]
    last = [row for row in ours if row["node"] == victim][-1]
    known = [row for row in ours if row["node"] == other and row["event"] == "q.state"][-1]
    epoch = known["epoch"] + 1
    told = {**known, "epoch": epoch, "leader": -1, "voted": -1, "voted_directory": ""}
    who = {"node": victim, "directory": last["directory"], "incarnation": last["incarnation"]}
    stood = {**told, **who, "state": "candidate", "t": fault["t_heal"] - 1, "voted": victim}
    run.insert_event({**stood, "voted_directory": last["directory"]}, after=last)
    theirs = [row for row in run.rows("node_events") if row["node"] == other]
    later = next(row for row in theirs if row["t"] > fault["t_heal"])
    run.insert_event({**told, "state": "unattached", "t": later["t"]}, after=later)


@legal("Q22-cut-off-leader-resigns", of=("partition-leader", "returning-minority"))
@legal("Q21-a-majority-elects", of=QUORUMS)
@legal("Q23-return-without-disturbance", of=("flapping-follower", "estranged-follower"))
@legal("followers-keep-up", of=("baseline", "baseline-5"))
def times_are_a_millisecond_later(run: Altered, rng: random.Random) -> None:
    """All nodes' clocks, and the run's, are a millisecond later."""
    for table, names in (("node_events", ("t",)), ("ops", ("t0", "t1"))):
        for row in run.rows(table):
            row |= {name: row[name] + 1_000_000 for name in names if row[name] is not None}


@lie("followers-keep-up", of=("baseline", "baseline-5"))
def a_follower_appends_nothing_in_calm(run: Altered, rng: random.Random) -> None:
    """In calm, a follower appends nothing from half a second on until just before the end."""
    began = min(row["t0"] for row in run.rows("ops")) + SECOND // 2
    late = run.info.duration_ns - SECOND // 20
    leader = run.events("q.state", state="leader")[-1]["node"]
    node = another_node(run, rng, leader)
    mine = [row for row in run.rows("node_events") if row["node"] == node]
    held = False
    for row in mine:
        held = held or (row["event"] in ("q.append", "q.fsync", "q.hwm") and row["t"] > began)
        if held:
            row["t"] = max(row["t"], late)


@lie("Q19-voters-stand-for-election", of=("membership-churn", "changing-voters"))
def one_that_is_no_voter_stands(run: Altered, rng: random.Random) -> None:
    """A node stands for election although by its log it has been no voter all along."""
    for stood in reversed(run.events("q.state", state="candidate")):
        known = [
            row
            for row in run.events("q.voters", node=stood["node"])
            if process_of(row) == process_of(stood) and row["seq"] < stood["seq"]
        ]
        for row in known:
            set_detail(row, voters=[v for v in detail(row)["voters"] if v["id"] != stood["node"]])
        if known:
            return
    raise NotHere("no candidate knew its voters")


@legal("Q19-voters-stand-for-election", of=("membership-churn", "changing-voters"))
def a_node_says_twice_whom_it_follows(run: Altered, rng: random.Random) -> None:
    """A follower traces its state once more, unchanged."""
    row = rng.choice(run.events("q.state", state="follower"))
    run.insert_event(dict(row), after=row)


@lie("V8-new-disk-is-no-voter", of="disk-loss")
def a_leader_was_elected_by_itself(run: Altered, rng: random.Random) -> None:
    """No replica voted for the leader that was elected last."""
    epoch = last_epoch(run)
    run.drop_events(lambda row: row["event"] == "q.vote" and row["epoch"] == epoch)


@lie("V8-new-disk-is-no-voter", of="disk-loss")
def a_leader_knows_the_others_by_lost_disks(run: Altered, rng: random.Random) -> None:
    """By the log of whoever was elected last, the other voters have disks that they lost."""
    leads = run.events("q.state", state="leader", epoch=last_epoch(run))[0]
    for row in run.events("q.voters", node=leads["node"]):
        voters = detail(row)["voters"]
        for voter in voters:
            if voter["id"] != leads["node"]:
                voter["dir"] = "ZZZZZZZZZZZZZZZZZZZZZZ"
        set_detail(row, voters=voters)


@legal("V8-new-disk-is-no-voter", of="disk-loss")
def a_new_disk_refuses_its_vote(run: Altered, rng: random.Random) -> None:
    """A voter refuses a vote as well, to a candidate that has none."""
    vote = rng.choice(run.events("q.vote"))
    run.insert_event({**vote, "outcome": "refused"}, after=vote)


@legal("V8-new-disk-is-no-voter", of="disk-loss")
def a_node_says_its_voters_twice(run: Altered, rng: random.Random) -> None:
    """A node traces once more who votes by its log."""
    row = rng.choice(run.events("q.voters"))
    run.insert_event(dict(row), after=row)
