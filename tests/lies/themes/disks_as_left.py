"""What lies on disks: whose they are, elections, damage, checkpoints, and what is committed."""

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path

from tests.lies.alteration import BOTH, legal, lie
from tests.lies.altered import Altered, Collected, NotHere, Row

QUORUM = "partition-leader"
BROKERS = "last-replica-standing"
KEY = "append-0-0"
METADATA = "__cluster_metadata-0"
_FRAME = 12  # bytes before what the length of a batch counts


def any_of_three(rng: random.Random) -> int:
    """One of the nodes that vote, or hold partitions."""
    return rng.randint(1, 3)


def rewritten(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text()
    path.write_text(change(text))
    if path.read_text() == text:
        raise NotHere(f"nothing to change in {path.name}")


def segment(run: Collected, node: int, below: str) -> Path:
    """The last segment of a log that holds anything."""
    return [path for path in run.files(node, "*.log", below) if path.stat().st_size][-1]


def batches(data: bytes) -> list[int]:
    """Where each batch begins."""
    found, at = [], 0
    while at + _FRAME <= len(data):
        found.append(at)
        at += _FRAME + int(struct.unpack_from(">i", data, at + 8)[0])
    return found


def end_of(data: bytes) -> int:
    """The offset behind the last record of a segment."""
    begin = batches(data)[-1]
    base, delta = (
        struct.unpack_from(">q", data, begin)[0],
        struct.unpack_from(">i", data, begin + 23),
    )
    return int(base) + int(delta[0]) + 1


def rot(path: Path, rng: random.Random, batch: int = -1) -> None:
    """Another byte in the records of a batch."""
    data = bytearray(path.read_bytes())
    begin = batches(bytes(data))[batch]
    data[begin + 61 + rng.randrange(4)] ^= 0x5A
    path.write_bytes(data)


def shorten(path: Path, batch: int) -> None:
    """The log ends where that batch began."""
    data = path.read_bytes()
    path.write_bytes(data[: batches(data)[batch]])


# --- whose a disk is ---


@lie("disks-name-their-nodes", of=QUORUM, target=BOTH, on_disk=True)
def a_disk_names_another_node(run: Collected, rng: random.Random) -> None:
    """The meta.properties of a node has the id of another one."""
    node = any_of_three(rng)
    (path,) = run.files(node, "meta.properties")
    rewritten(path, lambda text: text.replace(f"node.id={node}", f"node.id={node + 4}"))


@lie("disks-name-their-nodes", of=BROKERS, target=BOTH, on_disk=True)
def a_disk_names_nobody(run: Collected, rng: random.Random) -> None:
    """The meta.properties of a broker that nothing happened to is gone."""
    (path,) = run.files(any_of_three(rng), "meta.properties")
    path.unlink()


@legal("disks-name-their-nodes", of=QUORUM, target=BOTH, on_disk=True)
def a_disk_says_more(run: Collected, rng: random.Random) -> None:
    """A meta.properties has a comment, another order and a property that nobody knows."""
    (path,) = run.files(any_of_three(rng), "meta.properties")
    lines = [line for line in path.read_text().splitlines() if line]
    path.write_text("\n".join(["#written by hand", *reversed(lines), "more=1", ""]))


@legal("disks-name-their-nodes", of=BROKERS, target=BOTH, on_disk=True)
def a_disk_has_what_is_not_a_log(run: Collected, rng: random.Random) -> None:
    """A directory of the file system lies beside the logs, and an old temporary file."""
    (path,) = run.files(any_of_three(rng), "meta.properties")
    (path.parent / "lost+found").mkdir()
    (path.parent / "meta.properties.tmp").write_bytes(b"")


# --- quorum-state ---


@lie("quorum-state-is-kept", of=("partition-leader", "kill-leader"), target=BOTH, on_disk=True)
def an_election_state_of_nuls(run: Collected, rng: random.Random) -> None:
    """A quorum-state has its size, and NULs in it."""
    (path,) = run.files(any_of_three(rng), "quorum-state")
    path.write_bytes(bytes(path.stat().st_size))


@lie("quorum-state-is-kept", of=("power-off", QUORUM), target=BOTH, on_disk=True)
def an_election_state_is_gone(run: Collected, rng: random.Random) -> None:
    """The quorum-state of a node that was in several epochs is not there, also after a power cut
    of which it came back."""
    (path,) = run.files(any_of_three(rng), "quorum-state")
    path.unlink()


@lie("quorum-state-is-kept", of=(QUORUM, "kill-leader"))
def a_vote_that_is_forgotten(run: Altered, rng: random.Random) -> None:
    """The quorum-state of a node says nothing of its vote in that epoch, or of another one."""
    row = rng.choice(run.where("disks"))
    row["voted"] = -1 if row["voted"] > 0 else row["node"]


@legal("quorum-state-is-kept", of=QUORUM, target=BOTH, on_disk=True)
def an_election_state_in_another_order(run: Collected, rng: random.Random) -> None:
    """A quorum-state has its fields in another order."""
    (path,) = run.files(any_of_three(rng), "quorum-state")
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items()))))


@legal("quorum-state-is-kept", of="power-off", target=BOTH, on_disk=True)
def a_new_election_state_that_was_not_renamed(run: Collected, rng: random.Random) -> None:
    """Half of a new quorum-state lies beside the old one, under its temporary name."""
    (path,) = run.files(any_of_three(rng), "quorum-state")
    path.with_name("quorum-state.tmp").write_bytes(path.read_bytes()[:9])


# --- the metadata log ---


@lie(
    "metadata-disks-are-intact",
    of=("partition-leader", "snapshot-catch-up"),
    target=BOTH,
    on_disk=True,
)
def rot_in_the_metadata_log(run: Collected, rng: random.Random) -> None:
    """The last batch of a log has another byte; its node stopped in good order."""
    rot(segment(run, any_of_three(rng), METADATA), rng)


@lie("metadata-disks-are-intact", of="snapshot-catch-up", target=BOTH, on_disk=True)
def half_a_snapshot(run: Collected, rng: random.Random) -> None:
    """The newest snapshot of a disk lacks its last bytes."""
    path = run.files(any_of_three(rng), "*.checkpoint", METADATA)[-1]
    path.write_bytes(path.read_bytes()[:-7])


@lie("metadata-disks-are-intact", of=QUORUM, target=BOTH, on_disk=True)
def the_metadata_log_denies_its_epochs(run: Collected, rng: random.Random) -> None:
    """The leader-epoch-checkpoint of the metadata log says that the last epoch began earlier."""
    (path,) = run.files(any_of_three(rng), "leader-epoch-checkpoint", METADATA)
    *head, last = path.read_text().splitlines()
    epoch, start = last.split()
    path.write_text("\n".join([*head, f"{epoch} {int(start) - 9}", ""]))


@legal("metadata-disks-are-intact", of=QUORUM, target=BOTH, on_disk=True)
def an_epoch_that_no_record_has_yet(run: Collected, rng: random.Random) -> None:
    """The leader-epoch-checkpoint names an epoch that begins where the log ends."""
    node = any_of_three(rng)
    (path,) = run.files(node, "leader-epoch-checkpoint", METADATA)
    data = segment(run, node, METADATA).read_bytes()
    begin = batches(data)[-1]
    base, delta = (
        struct.unpack_from(">q", data, begin)[0],
        struct.unpack_from(">i", data, begin + 23)[0],
    )
    _, _, *entries = path.read_text().splitlines()
    more = [*entries, f"99 {base + delta + 1}"]
    path.write_text("\n".join(["0", str(len(more)), *more, ""]))


@legal("metadata-disks-are-intact", of="snapshot-catch-up", on_disk=True)
def a_snapshot_that_is_still_written(run: Collected, rng: random.Random) -> None:
    """Half of a snapshot lies there under its temporary name."""
    path = run.files(any_of_three(rng), "*.checkpoint", METADATA)[-1]
    path.with_name(f"{path.name}.part").write_bytes(path.read_bytes()[:-7])


# --- what is committed ---


@lie("voters-keep-the-committed", of=QUORUM, target=BOTH, on_disk=True)
def a_voter_forgot_the_end(run: Collected, rng: random.Random) -> None:
    """A voter that nothing happened to has the first batches of the log; a majority has all."""
    shorten(segment(run, 3, METADATA), rng.randrange(2, 20))


@lie("voters-keep-the-committed", of="kill-leader", target=BOTH)
def a_voter_stayed_behind(run: Altered, rng: random.Random) -> None:
    """The log of the one voter that nothing happened to ends long before those of the others."""
    cut_log(run, 3, rng.randrange(3, 9))


@legal("voters-keep-the-committed", of=QUORUM, target=BOTH)
def a_voter_lacks_what_came_last(run: Altered, rng: random.Random) -> None:
    """What the leader wrote just before the end is not on one follower yet."""
    leader = max(run.where("disks"), key=lambda row: row["epoch"])["leader"]
    others = [node for node in run.nodes if node != leader]
    run.append_to_metadata_log({leader, rng.choice(others)}, "NoOp")


@legal("voters-keep-the-committed", of="power-off", target=BOTH)
def what_nobody_committed_is_on_the_leader_alone(run: Altered, rng: random.Random) -> None:
    """What the leader wrote just before the end is on no other disk."""
    leader = max(run.where("disks"), key=lambda row: row["epoch"])["leader"]
    for _ in range(rng.randint(1, 3)):
        run.append_to_metadata_log([leader], "NoOp")


def cut_log(run: Altered, node: int, batch: int) -> None:
    """A log ends where its n-th batch began, as its disk has it."""
    mine = run.where("log_batches", node=node)
    if len(mine) <= batch:
        raise NotHere("the log is too short")
    end = mine[batch]["base_offset"]
    run.keep("log_batches", lambda row: row["node"] != node or row["base_offset"] < end)
    run.keep("log_records", lambda row: row["node"] != node or row["offset"] < end)
    for row in run.where("disks", node=node):
        row["log_end"] = end


# --- replicas ---


@lie("replicas-are-intact", of=(BROKERS, "power-off-brokers"), target=BOTH, on_disk=True)
def rot_in_a_replica(run: Collected, rng: random.Random) -> None:
    """The last batch of a replica has another byte; its broker stopped in good order."""
    rot(segment(run, any_of_three(rng), "/append-0-0"), rng)


@lie("replicas-are-intact", of=BROKERS, target=BOTH, on_disk=True)
def half_a_batch_of_a_replica(run: Collected, rng: random.Random) -> None:
    """Half of a batch stands at the end of a log whose broker stopped in good order."""
    path = segment(run, any_of_three(rng), "/append-0-0")
    data = path.read_bytes()
    path.write_bytes(data + data[: 61 + 20])


@lie("replicas-are-intact", of=BROKERS, target=BOTH, on_disk=True)
def a_checkpoint_that_is_cut(run: Collected, rng: random.Random) -> None:
    """The checkpoint of high watermarks names a partition less than it says."""
    (path,) = run.files(any_of_three(rng), "replication-offset-checkpoint")
    path.write_text("\n".join([*path.read_text().splitlines()[:-1], ""]))


@legal("replicas-are-intact", of=BROKERS, target=BOTH, on_disk=True)
def a_replica_that_is_being_deleted(run: Collected, rng: random.Random) -> None:
    """A damaged log lies in a directory whose name says that it is to be deleted."""
    path = segment(run, any_of_three(rng), "/append-0-0")
    gone = path.parent.with_name(f"{path.parent.name}.0123456789abcdef0123456789abcdef-delete")
    gone.mkdir()
    (gone / path.name).write_bytes(path.read_bytes()[:-9])


@legal("replicas-are-intact", of="power-off-brokers", target=BOTH, on_disk=True)
def an_empty_segment_at_the_end(run: Collected, rng: random.Random) -> None:
    """A broker had rolled, and written nothing into the new segment."""
    node = any_of_three(rng)
    path = segment(run, node, "/append-0-0")
    data = path.read_bytes()
    begin = batches(data)[-1]
    base, delta = (
        struct.unpack_from(">q", data, begin)[0],
        struct.unpack_from(">i", data, begin + 23)[0],
    )
    path.with_name(f"{base + delta + 1:020}.log").touch()


# --- checkpoints ---


def epochs_of(row: Row) -> list[list[int]]:
    found: list[list[int]] = json.loads(row["epochs"])
    return found


def replicas_with_epochs(run: Altered) -> list[Row]:
    found = [row for row in run.rows("replicas") if len(json.loads(row["epochs"])) > 1]
    if not found:
        raise NotHere("no replica with two epochs")
    return found


@lie("epoch-checkpoints-agree", of=(BROKERS, "controlled-shutdown-roll"), target=BOTH)
def an_epoch_that_began_earlier(run: Altered, rng: random.Random) -> None:
    """The leader-epoch-checkpoint says that the last epoch began before its first record."""
    row = rng.choice(replicas_with_epochs(run))
    *head, (epoch, start) = epochs_of(row)
    row["epochs"] = json.dumps([*head, [epoch, start - 1]])


@lie("epoch-checkpoints-agree", of="controlled-shutdown-roll", target=BOTH)
def an_epoch_that_is_not_named(run: Altered, rng: random.Random) -> None:
    """The leader-epoch-checkpoint does not name the last epoch, of a broker that never lost its
    power."""
    row = rng.choice(replicas_with_epochs(run))
    row["epochs"] = json.dumps(epochs_of(row)[:-1])


@lie("epoch-checkpoints-agree", of=BROKERS, target=BOTH, on_disk=True)
def epochs_that_do_not_rise(run: Collected, rng: random.Random) -> None:
    """The leader-epoch-checkpoint of a replica names its epochs in the wrong order."""
    (path,) = run.files(any_of_three(rng), "leader-epoch-checkpoint", "/append-0-0")
    head, entries = path.read_text().splitlines()[:2], path.read_text().splitlines()[2:]
    if len(entries) < 2:
        raise NotHere("one epoch alone")
    path.write_text("\n".join([*head, *reversed(entries), ""]))


@legal("epoch-checkpoints-agree", of=(BROKERS, "controlled-shutdown-roll"), target=BOTH)
def an_epoch_without_records_yet(run: Altered, rng: random.Random) -> None:
    """The leader-epoch-checkpoint names an epoch that begins where the log ends."""
    row = rng.choice(replicas_with_epochs(run))
    row["epochs"] = json.dumps([*epochs_of(row), [99, row["log_end"]]])


@legal("epoch-checkpoints-agree", of="undeleted-records", target=BOTH)
def an_epoch_that_begins_where_records_were_deleted(run: Altered, rng: random.Random) -> None:
    """Where the head of a log was deleted, its first epoch begins there, or still at 0."""
    cut = [row for row in run.rows("replicas") if row["log_start"] > 0 and epochs_of(row)]
    if not cut:
        raise NotHere("nothing was deleted")
    row = rng.choice(cut)
    (epoch, _), *rest = epochs_of(row)
    row["epochs"] = json.dumps([[epoch, 0], *rest])


@lie("flushed-stays", of=(BROKERS, "power-off-brokers"), target=BOTH, on_disk=True)
def flushed_records_are_gone(run: Collected, rng: random.Random) -> None:
    """The recovery point of a replica is behind the end of its log."""
    node = any_of_three(rng)
    (path,) = run.files(node, "replication-offset-checkpoint")
    rows = path.read_text().splitlines()[2:]
    topic, index, offset = rng.choice(rows).split()
    text = f"0\n1\n{topic} {index} {int(offset) + rng.randint(1, 500)}\n"
    path.with_name("recovery-point-offset-checkpoint").write_text(text)


@legal("flushed-stays", of=(BROKERS, "power-off-brokers"), target=BOTH, on_disk=True)
def all_is_flushed(run: Collected, rng: random.Random) -> None:
    """Recovery points are where the logs end."""
    (path,) = run.files(any_of_three(rng), "replication-offset-checkpoint")
    path.with_name("recovery-point-offset-checkpoint").write_text(path.read_text())


@lie("high-watermarks-are-saved", of=(BROKERS, "controlled-shutdown-roll"), target=BOTH)
def a_high_watermark_of_long_ago(run: Altered, rng: random.Random) -> None:
    """After a stop in good order a checkpoint says a tenth of what its broker knew."""
    rows = [row for row in run.rows("replicas") if (row["high_watermark"] or 0) > 50]
    row = rng.choice(rows)
    row["high_watermark"] //= 10


@lie("high-watermarks-are-saved", of=BROKERS, target=BOTH)
def a_high_watermark_that_is_not_named(run: Altered, rng: random.Random) -> None:
    """The checkpoint of a broker that stopped in good order does not name the partition."""
    rng.choice(run.where("replicas", key=KEY))["high_watermark"] = None


@legal("high-watermarks-are-saved", of=BROKERS, target=BOTH)
def a_high_watermark_of_one_that_was_killed(run: Altered, rng: random.Random) -> None:
    """A broker did not stop in time and was killed: its checkpoint is some seconds old."""
    node = any_of_three(rng)
    run.inform(endings={**run.info.endings, str(node): "killed"})
    for row in run.where("replicas", node=node):
        row["high_watermark"] = max((row["high_watermark"] or 0) - 40, 0)


@legal("high-watermarks-are-saved", of="controlled-shutdown-roll", target=BOTH)
def a_partition_without_records(run: Altered, rng: random.Random) -> None:
    """The checkpoint does not name a partition into which nobody ever wrote."""
    empty = [row for row in run.rows("replicas") if row["log_end"] == 0]
    if not empty:
        raise NotHere("no empty partition")
    rng.choice(empty)["high_watermark"] = None


# --- the clean-shutdown file ---


@lie("clean-stops-are-marked", of=(BROKERS, "power-off-brokers"), target=BOTH, on_disk=True)
def a_clean_stop_without_a_mark(run: Collected, rng: random.Random) -> None:
    """A broker that stopped in good order left no clean-shutdown file."""
    (path,) = run.files(any_of_three(rng), ".kafka_cleanshutdown")
    path.unlink()


@lie("clean-stops-are-marked", of=(BROKERS, "controlled-shutdown-roll"))
def a_mark_of_another_life(run: Altered, rng: random.Random) -> None:
    """The clean-shutdown file of a broker is of another broker epoch than its last."""
    marked = [row for row in run.rows("disks") if row["clean_shutdown"] is not None]
    rng.choice(marked)["clean_shutdown"] -= 1


@legal("clean-stops-are-marked", of=(BROKERS, "power-off-brokers"), target=BOTH)
def one_that_was_killed_leaves_no_mark(run: Altered, rng: random.Random) -> None:
    """A broker that did not stop in time and was killed has no clean-shutdown file."""
    node = any_of_three(rng)
    run.inform(endings={**run.info.endings, str(node): "killed"})
    for row in run.where("disks", node=node):
        row["clean_shutdown"] = None
