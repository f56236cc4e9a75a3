"""Nodes that do not tell what they do: of votes, voters, snapshots, fetches, claims and appends."""

import itertools
import random

from tests.lies.alteration import BOTH, TRACED, legal, lie
from tests.lies.altered import NO_RECORD, Altered, NotHere, Row, detail

QUORUM = "partition-leader"


def last_reign(run: Altered) -> Row:
    """The LeaderChange of the newest epoch."""
    changes = run.records("LeaderChange")
    if not changes:
        raise NotHere("no LeaderChange")
    return max(changes, key=lambda row: row["epoch"])


def some(rows: list[Row], rng: random.Random, what: str) -> Row:
    if not rows:
        raise NotHere(what)
    return rng.choice(rows)


# --- epochs ---


@lie("epochs-begin-with-a-leader-change", of=(QUORUM, "kill-leader"), target=BOTH)
def a_reign_that_begins_with_nothing(run: Altered, rng: random.Random) -> None:
    """The LeaderChange of an epoch is a NoOp, on every disk."""
    epoch = some(run.records("LeaderChange"), rng, "no LeaderChange")["epoch"]
    for row in run.records("LeaderChange", epoch=epoch):
        row.update(NO_RECORD, type="NoOp")


@lie("epochs-begin-with-a-leader-change", of=QUORUM, target=BOTH)
def records_of_an_epoch_that_nobody_led(run: Altered, rng: random.Random) -> None:
    """The last batches before a change of leaders are of an epoch in which nobody was elected."""
    changes = sorted({(row["epoch"], row["offset"]) for row in run.records("LeaderChange")})
    gaps = [
        (newer, offset)
        for (older, _), (newer, offset) in itertools.pairwise(changes)
        if newer - older > 1
    ]
    if not gaps:
        raise NotHere("no epoch was passed over")
    newer, offset = rng.choice(gaps)
    begin = offset - rng.randint(2, 6)
    for table, name in (("log_batches", "base_offset"), ("log_records", "offset")):
        for row in run.rows(table):
            if begin <= row[name] < offset:
                row["epoch"] = newer - 1
    for row in run.events("q.append"):
        if begin <= row["base"] < offset:
            row["epoch"] = newer - 1


@legal("epochs-begin-with-a-leader-change", of=(QUORUM, "kill-leader"), target=BOTH)
def a_record_more_in_the_last_reign(run: Altered, rng: random.Random) -> None:
    """A log has a NoOp more at its end, of the epoch that is there."""
    run.append_to_metadata_log([rng.choice(list(run.nodes))], "NoOp")


# --- appends ---


@lie("appends-follow-the-log", of=(QUORUM, "kill-leader"))
def an_append_over_what_is_there(run: Altered, rng: random.Random) -> None:
    """A follower appends some batches once more, and nothing says that it cut its log."""
    node = rng.choice(list(run.nodes))
    appends = run.events("q.append", node=node, state="follower")
    if len(appends) < 20:
        raise NotHere("a follower that appended little")
    at = rng.randrange(10, len(appends) - 4)
    for row in reversed(appends[at - 3 : at + 1]):
        run.insert_event({**row, "t": appends[at]["t"]}, after=appends[at])


@lie("appends-follow-the-log", of=(QUORUM, "snapshot-catch-up"))
def appends_that_leave_a_hole(run: Altered, rng: random.Random) -> None:
    """A follower does not tell of some batches that it appended."""
    appends = run.events("q.append", state="follower")
    node = some(appends, rng, "no follower")["node"]
    mine = [row for row in appends if row["node"] == node]
    if len(mine) < 20:
        raise NotHere("a follower that appended little")
    at = rng.randrange(5, len(mine) - 6)
    gone = {id(row) for row in mine[at : at + 3]}
    run.drop_events(lambda row: id(row) in gone)


@lie("appends-follow-the-log", of=QUORUM)
def a_truncation_that_nobody_tells_of(run: Altered, _: random.Random) -> None:
    """A node cut off its log, and does not say so."""
    if not run.drop_events(lambda row: row["event"] == "q.truncate"):
        raise NotHere("no truncation")


@legal("appends-follow-the-log", of=(QUORUM, "kill-leader"))
def an_append_that_is_synced_later(run: Altered, rng: random.Random) -> None:
    """A q.fsync of a node comes twice: it says nothing new."""
    sync = some(run.events("q.fsync"), rng, "no fsync")
    run.insert_event(dict(sync), after=sync)


# --- votes ---


@lie("granted-votes-are-traced", of=(QUORUM, "kill-leader"))
def votes_that_nobody_granted(run: Altered, _: random.Random) -> None:
    """The leader of the newest epoch names votes of which their voters tell nothing."""
    epoch = last_reign(run)["epoch"]
    if not run.drop_events(
        lambda row: (
            row["event"] == "q.vote" and row["epoch"] == epoch and row["outcome"] == "granted"
        )
    ):
        raise NotHere("no vote of it was traced")


@lie("granted-votes-are-traced", of=QUORUM)
def a_vote_that_was_refused(run: Altered, rng: random.Random) -> None:
    """A voter traced that it refused the vote that the leader names."""
    epoch = last_reign(run)["epoch"]
    named = {voter["voterId"] for voter in detail(last_reign(run))["grantingVoters"]}
    votes = run.events("q.vote", epoch=epoch, outcome="granted")
    some([row for row in votes if row["node"] in named], rng, "no vote")["outcome"] = "refused"


@legal("granted-votes-are-traced", of=(QUORUM, "kill-leader"))
def a_vote_that_came_too_late(run: Altered, rng: random.Random) -> None:
    """A voter granted its vote, and the leader did not need it and names it not."""
    epoch = last_reign(run)["epoch"]
    votes = run.events("q.vote", epoch=epoch, outcome="granted")
    vote = some(votes, rng, "no vote")
    run.insert_event({**vote, "t": vote["t"] + 1}, after=vote)


# --- voters ---


@lie("voters-are-traced", of=(QUORUM, "membership-churn", "last-replica-standing"))
def nobody_tells_who_votes(run: Altered, _: random.Random) -> None:
    """No node traces who votes."""
    run.drop_events(lambda row: row["event"] == "q.voters")


@lie("voters-are-traced", of=("membership-churn", "changing-voters"))
def a_change_of_voters_that_is_not_told(run: Altered, rng: random.Random) -> None:
    """A node that appended a change of the voters does not tell that it follows it."""
    told = [row for row in run.events("q.voters") if (row["offset"] or 0) > 9 and row["epoch"] > 0]
    gone = some(told, rng, "no change of voters")
    run.drop_events(
        lambda row: (
            row["event"] == "q.voters"
            and (row["node"], row["offset"]) == (gone["node"], gone["offset"])
        )
    )


@legal("voters-are-traced", of=(QUORUM, "membership-churn"))
def voters_that_are_told_twice(run: Altered, rng: random.Random) -> None:
    """A node tells once more who votes."""
    told = some(run.events("q.voters"), rng, "nobody told")
    run.insert_event(dict(told), after=told)


# --- snapshots ---


@lie("stored-snapshots-are-traced", of="snapshot-catch-up")
def snapshots_that_nobody_took(run: Altered, _: random.Random) -> None:
    """No node tells of the snapshots that lie on its disk."""
    run.drop_events(lambda row: row["event"] == "q.snapshot")


@lie("stored-snapshots-are-traced", of="snapshot-catch-up")
def a_snapshot_that_nobody_took(run: Altered, rng: random.Random) -> None:
    """A node does not tell of one of the snapshots on its disk."""
    ends = sorted({(row["node"], row["end"]) for row in run.rows("snapshot_records") if row["end"]})
    node, end = rng.choice(ends)
    run.drop_events(
        lambda row: row["event"] == "q.snapshot" and (row["node"], row["log_end"]) == (node, end)
    )


@legal("stored-snapshots-are-traced", of="snapshot-catch-up")
def a_snapshot_that_was_deleted(run: Altered, rng: random.Random) -> None:
    """Of a snapshot that a node took and deleted, its disk has nothing: as it was recorded."""
    deleted = [row for row in run.events("q.snapshot") if detail(row).get("what") == "deleted"]
    some(deleted, rng, "no snapshot was deleted")


@legal("stored-snapshots-are-traced", of="snapshot-catch-up")
def a_snapshot_that_is_told_twice(run: Altered, rng: random.Random) -> None:
    """A node tells once more of a snapshot that it found."""
    found = [row for row in run.events("q.snapshot") if detail(row).get("what") == "found"]
    line = some(found, rng, "no snapshot was found")
    run.insert_event(dict(line), after=line)


# --- fetches ---


@lie("fetches-are-traced", of=(QUORUM, "last-replica-standing", "controlled-shutdown-roll"))
def fetches_that_nobody_answered(run: Altered, rng: random.Random) -> None:
    """A leader does not tell of the Fetches of one of its followers."""
    replica = some(run.events("q.fetch"), rng, "no fetch")["replica"]
    run.drop_events(lambda row: row["event"] == "q.fetch" and row["replica"] == replica)


@lie("fetches-are-traced", of="kill-leader")
def fetches_of_an_epoch_that_nobody_answered(run: Altered, rng: random.Random) -> None:
    """The leader of an epoch does not tell of any Fetch in it."""
    epoch = some(run.records("LeaderChange"), rng, "no LeaderChange")["epoch"]
    run.drop_events(lambda row: row["event"] == "q.fetch" and row["epoch"] == epoch)


@legal("fetches-are-traced", of=(QUORUM, "last-replica-standing"))
def a_fetch_that_is_repeated(run: Altered, rng: random.Random) -> None:
    """A leader tells twice of a Fetch."""
    fetch = some(run.events("q.fetch"), rng, "no fetch")
    run.insert_event(dict(fetch), after=fetch)


# --- claims and reads ---


@lie("claims-are-traced", of=(QUORUM, "kill-leader"))
def a_controller_that_is_never_active(run: Altered, rng: random.Random) -> None:
    """A controller that serves clients does not tell that it is active."""
    epoch = some(run.events("c.active"), rng, "no claim")["epoch"]
    run.drop_events(lambda row: row["event"] in ("c.active", "c.resign") and row["epoch"] == epoch)


@lie("claims-are-traced", of=QUORUM)
def a_controller_that_never_resigns(run: Altered, _: random.Random) -> None:
    """A controller that another one followed does not tell that it resigned."""
    if not run.drop_events(lambda row: row["event"] == "c.resign"):
        raise NotHere("none resigned")


@legal("claims-are-traced", of=(QUORUM, "power-off"))
def a_refusal_by_one_that_is_not_active(run: Altered, rng: random.Random) -> None:
    """A node that is not active refused an operation."""
    claiming = {row["node"] for row in run.events("c.active")}
    others = [node for node in run.nodes if node not in claiming]
    refused = run.ops(outcome="fail", f="write")
    if not others:
        raise NotHere("all were active once")
    some(refused, rng, "nothing was refused")["node"] = rng.choice(others)


@lie("reads-are-confirmed", of=(QUORUM, "kill-leader"))
def reads_that_nobody_confirmed(run: Altered, _: random.Random) -> None:
    """Clients are answered reads, and no round of reads is traced."""
    run.drop_events(lambda row: row["event"] == "c.read")


@lie("reads-are-confirmed", of=(QUORUM, "changing-voters"))
def few_reads_are_confirmed(run: Altered, rng: random.Random) -> None:
    """Nine of ten rounds of reads are not traced."""
    rounds = run.events("c.read")
    kept = {id(row) for row in rng.sample(rounds, len(rounds) // 10)}
    run.drop_events(lambda row: row["event"] == "c.read" and id(row) not in kept)


@legal("reads-are-confirmed", of=(QUORUM, "kill-leader"))
def a_round_for_nobody(run: Altered, rng: random.Random) -> None:
    """A round of reads is traced for a read that its client gave up."""
    line = some(run.events("c.read"), rng, "no round")
    run.insert_event({**line, "t": line["t"] + 1}, after=line)


@lie("Q9-committed-by-majority", of=("last-replica-standing", "controlled-shutdown-roll"))
def a_single_controller_that_never_syncs(run: Altered, _: random.Random) -> None:
    """The only controller calls committed what it does not tell to have synced."""
    run.drop_events(lambda row: row["event"] == "q.fsync")


@legal("Q9-committed-by-majority", of=("last-replica-standing", QUORUM))
def a_sync_for_several_appends(run: Altered, rng: random.Random) -> None:
    """A node tells of one sync twice."""
    sync = some(run.events("q.fsync"), rng, "no fsync")
    run.insert_event(dict(sync), after=sync)


# --- features ---


@lie("stored-snapshots-name-features", of="snapshot-catch-up", target=BOTH)
def snapshots_that_forget_the_features(run: Altered, _: random.Random) -> None:
    """No snapshot, nor any log that begins with one, names the level of metadata.version."""
    if not run.keep("snapshot_records", lambda row: row["type"] != "FeatureLevel"):
        raise NotHere("no snapshot names one")
    run.keep("log_records", lambda row: row["type"] != "FeatureLevel")


@lie("stored-snapshots-name-features", of="snapshot-catch-up", target=BOTH)
def a_snapshot_that_forgets_the_features(run: Altered, rng: random.Random) -> None:
    """The snapshots of one node do not name the level of metadata.version."""
    node = rng.choice(list(run.nodes))
    if not run.keep(
        "snapshot_records", lambda row: row["type"] != "FeatureLevel" or row["node"] != node
    ):
        raise NotHere("no snapshot names one")


@legal("stored-snapshots-name-features", of="snapshot-catch-up", target=TRACED)
def features_in_another_order(run: Altered, rng: random.Random) -> None:
    """A snapshot names its features behind all other records."""
    rows = run.rows("snapshot_records")
    node = rng.choice(list(run.nodes))
    levels = [row for row in rows if row["type"] == "FeatureLevel" and row["node"] == node]
    for level in levels:
        footer = next(
            row
            for row in rows
            if row["type"] == "SnapshotFooter" and (row["node"], row["end"]) == (node, level["end"])
        )
        rows.remove(level)
        rows.insert(rows.index(footer), level)


@legal("stored-snapshots-name-features", of=QUORUM, target=TRACED)
def a_quorum_without_snapshots(run: Altered, rng: random.Random) -> None:
    """Where no snapshot was taken yet, the log names the features."""
    some(run.records("FeatureLevel"), rng, "no feature")
