"""What replicas and groups are to keep, and what may be gone because somebody asked for that."""

import random

from tests.lies.alteration import BOTH, NOT_GREEN, legal, lie
from tests.lies.altered import Altered, Collected, NotHere, Row, first

HELD = (
    "P9-eligible-hold-all",
    "P11-replicas-agree",
    "P18-acknowledged-everywhere",
)
LED = (
    "P9-eligible-hold-all",
    "P10-leaders-hold-acknowledged",
    "P13-reads-are-stored",
)
KEEPING = ("last-replica-standing", "isr-shrink-storm")


def largest(run: Altered) -> str:
    """The partition with most records."""
    rows = run.rows("replicas")
    return str(max(rows, key=lambda row: (row["log_end"], row["key"]))["key"])


def last_leader(run: Altered, key: str) -> int:
    told = [row for row in run.where("probes", kind="partition", key=key) if row["leader"] > 0]
    return int(max(told, key=lambda row: (row["epoch"], row["t0"]))["leader"])


def behead(run: Altered, key: str, start: int, *nodes: int) -> None:
    """The logs of a partition on these nodes begin at an offset."""

    def stays(row: Row, offset: str) -> bool:
        return not (row["key"] == key and row["node"] in nodes and row[offset] < start)

    run.keep("replica_batches", lambda row: stays(row, "base_offset"))
    run.keep("replica_spans", lambda row: stays(row, "offset"))
    for row in run.where("replicas", key=key):
        if row["node"] in nodes:
            row["log_start"] = start


def boundary(run: Altered, key: str, rng: random.Random) -> int:
    """Where a span and a batch begin on every disk, somewhere in the middle."""
    spans = run.where("replica_spans", key=key)
    starts = {(row["node"], int(row["offset"])) for row in spans}
    batches = {(row["node"], row["base_offset"]) for row in run.where("replica_batches", key=key)}
    nodes = {node for node, _ in batches}
    common = [
        at
        for at in sorted({offset for _, offset in starts})
        if at > 0 and all((node, at) in starts and (node, at) in batches for node in nodes)
    ]
    middle = common[len(common) // 4 : 3 * len(common) // 4]
    if not middle:
        raise NotHere("no batch begins at the same offset on all disks")
    return rng.choice(middle)


@lie(*HELD, of=KEEPING, target=BOTH)
def a_follower_holds_no_record(run: Altered, rng: random.Random) -> None:
    """The log of a follower in the ISR begins where it ends."""
    key = largest(run)
    leader = last_leader(run, key)
    node = rng.choice([node for node in run.nodes if node not in (leader, 4)])
    end = int(first(run.where("replicas", key=key, node=node), "no replica")["log_end"])
    behead(run, key, end, node)


@lie(*LED, of=KEEPING, target=BOTH)
def the_leader_begins_late(run: Altered, rng: random.Random) -> None:
    """The last leader's log has no head, which no client asked to be deleted."""
    key = largest(run)
    behead(run, key, boundary(run, key, rng), last_leader(run, key))


@lie(*LED, "P18-acknowledged-everywhere", of=KEEPING, target=BOTH)
def all_logs_begin_late(run: Altered, rng: random.Random) -> None:
    """No replica has the head of the log, which no client asked to be deleted."""
    key = largest(run)
    behead(run, key, boundary(run, key, rng), 1, 2, 3)


@lie(*LED, of="last-replica-standing", target=BOTH, on_disk=True)
def all_checkpoints_say_that_the_log_begins_at_its_end(run: Collected, _: random.Random) -> None:
    """On all disks log-start-offset-checkpoint says that no record is left."""
    for node in (1, 2, 3):
        for path in run.files(node, "replication-offset-checkpoint"):
            path.with_name("log-start-offset-checkpoint").write_text(path.read_text())


def delete_records(run: Altered, key: str, before: int, *, outcome: str = "ok") -> None:
    """A client asks for it when all was read at the end."""
    ops = run.rows("ops")
    last = max(ops, key=lambda row: row["complete_index"] or row["invoke_index"])
    at = max(row["t1"] or row["t0"] for row in ops) + 1_000_000
    asked = dict.fromkeys(ops[0]) | {"op_id": 1 + max(row["op_id"] for row in ops)}
    asked |= {"process": 1_000_000, "f": "delete-records", "key": key, "value": before}
    asked |= {"outcome": outcome, "node": 1, "phase": "final", "t0": at, "t1": at + 1_000_000}
    index = last["complete_index"] or last["invoke_index"]
    ops.append(asked | {"invoke_index": index + 1, "complete_index": index + 2})


@legal(*{*HELD, *LED}, of=KEEPING, target=BOTH)
def records_were_deleted_as_was_asked(run: Altered, rng: random.Random) -> None:
    """All logs begin where a client asked for it; of the answer nobody knows."""
    key = largest(run)
    start = boundary(run, key, rng)
    behead(run, key, start, 1, 2, 3)
    delete_records(run, key, start, outcome="info")


@legal(*{*HELD, *LED}, of=KEEPING, target=BOTH)
def retention_dropped_as_was_asked(run: Altered, rng: random.Random) -> None:
    """All logs begin so that as many bytes are left as were to be kept."""
    key = largest(run)
    start = boundary(run, key, rng)
    behead(run, key, start, 1, 2, 3)
    left = sum(row["size"] for row in run.where("replica_batches", key=key, node=1))
    run.inform(settings={**run.info.settings, "log.retention.bytes": str(left)})


# --- records that were deleted ---

DELETING = "undeleted-records"


def told_start(run: Altered) -> Row:
    return first(run.ops(f="log-start", outcome="ok"), "nobody was told where the log begins")


@lie("deleted-records-stay-deleted", of=DELETING, target=BOTH)
def a_log_begins_before_its_deletions(run: Altered, rng: random.Random) -> None:
    """The log begins before where its records were deleted."""
    told_start(run)["value"] = rng.randrange(10)


@lie("deleted-records-stay-deleted", of=DELETING, target=BOTH)
def more_is_deleted(run: Altered, rng: random.Random) -> None:
    """The log begins later than a client asked for."""
    told_start(run)["value"] = rng.randrange(11, 41)


@legal("deleted-records-stay-deleted", of=DELETING, target=BOTH)
def old_records_are_dropped(run: Altered, rng: random.Random) -> None:
    """The log begins later, and records were to be kept for a second."""
    run.inform(settings={**run.info.settings, "log.retention.ms": "1000"})
    told_start(run)["value"] = rng.randrange(11, 20)


@legal("deleted-records-stay-deleted", of=DELETING, target=BOTH)
def a_further_deletion_was_lost_or_done(run: Altered, rng: random.Random) -> None:
    """A client asked for more to be deleted, nobody knows whether it was; the log begins there."""
    deletion = first(run.ops(f="delete-records", outcome="ok"), "no deletion")
    ops = run.rows("ops")
    further = {**deletion, "op_id": 1 + max(row["op_id"] for row in ops), "process": 1_000_000}
    further |= {"value": 15, "outcome": "info", "error": "timed out"}
    index = deletion["complete_index"]
    ops.append(further | {"invoke_index": index + 0.1, "complete_index": index + 0.2})
    told_start(run)["value"] = rng.choice((10, 15))


# --- groups ---

COMMITTING = "stranded-coordinator"
KEPT = "committed-offsets-are-kept"


def told(run: Altered) -> list[Row]:
    return run.ops(f="committed-offset", outcome="ok")


@lie(KEPT, of=COMMITTING, target=BOTH)
def an_offset_that_was_acknowledged_is_forgotten(run: Altered, rng: random.Random) -> None:
    """A group is told an offset that was acknowledged long before."""
    rng.choice(told(run)[20:])["value"] -= 5


@lie(KEPT, of=COMMITTING, target=BOTH)
def a_group_is_told_what_nobody_committed(run: Altered, rng: random.Random) -> None:
    """An offset ahead of all that were ever committed."""
    rng.choice(told(run))["value"] = 10**6 + rng.randrange(1000)


@lie(KEPT, of=COMMITTING, target=BOTH)
def a_commit_that_was_refused_comes_back(run: Altered, _: random.Random) -> None:
    """A commit was answered by an error, of which nobody knows what it did; many were acknowledged
    since, and the group is told that one."""
    refused = first(run.ops(f="commit-offset", outcome="info"), "each was acknowledged")
    told(run)[-1]["value"] = refused["value"]


@lie(KEPT, of=COMMITTING, target=BOTH, want=NOT_GREEN)
def no_commit_succeeds_any_more(run: Altered, _: random.Random) -> None:
    """Once all faults are over each commit is answered by an error."""
    over = max(row["t_healed"] for row in run.rows("faults"))
    late = [row for row in run.ops(f="commit-offset") if row["t0"] > over]
    for row in late:
        row.update(outcome="info", error="error-15")
    kept = max(row["value"] for row in run.ops(f="commit-offset", outcome="ok"))
    for row in told(run):
        row["value"] = min(row["value"], kept)


@legal(KEPT, of=COMMITTING, target=BOTH)
def an_answer_to_a_commit_was_lost(run: Altered, rng: random.Random) -> None:
    """It was done, as the group is told afterwards."""
    rng.choice(run.ops(f="commit-offset", outcome="ok")).update(outcome="info", error="timed out")


@legal(KEPT, of=COMMITTING, target=BOTH)
def a_question_was_refused(run: Altered, rng: random.Random) -> None:
    """A coordinator does not say what is committed."""
    asked = [row for row in told(run) if row["phase"] == "main"]
    rng.choice(asked).update(outcome="fail", value=None, error="error-14")


# --- which topics brokers know ---

KNOWING = "ghost-topic"
TOPICS = "brokers-know-the-topics"


@lie(TOPICS, of=KNOWING, target=BOTH)
def a_broker_knows_a_topic_that_was_deleted(run: Altered, rng: random.Random) -> None:
    """A ghost."""
    rng.choice(run.ops(f="describe-topic", outcome="ok", value=0))["value"] = 1


@lie(TOPICS, of=KNOWING, target=BOTH)
def a_broker_does_not_know_a_topic(run: Altered, rng: random.Random) -> None:
    """One that is there, and is older than the last one, which the broker knows."""
    known = run.ops(f="describe-topic", outcome="ok", value=1)
    rng.choice([row for row in known if "deleted" in row["key"]])["value"] = 0


@lie(TOPICS, of=KNOWING, target=BOTH)
def a_broker_knows_no_topic_at_all(run: Altered, rng: random.Random) -> None:
    """Seconds after all were created, while nothing is wrong."""
    for row in run.ops(f="describe-topic", outcome="ok", node=rng.choice((1, 2, 3))):
        row["value"] = 0


@legal(TOPICS, of=KNOWING, target=BOTH)
def a_broker_did_not_answer(run: Altered, rng: random.Random) -> None:
    """Of one topic it does not say whether it knows it."""
    asked = [r for r in run.ops(f="describe-topic", outcome="ok") if "deleted" in r["key"]]
    rng.choice(asked).update(outcome="fail", value=None, error="timed out")


@legal(TOPICS, of=KNOWING, target=BOTH)
def nobody_knows_whether_a_topic_was_deleted(run: Altered, rng: random.Random) -> None:
    """The answer to its deletion was lost; brokers that know it or do not are both right."""
    deletion = rng.choice(run.ops(f="delete-topic", outcome="ok"))
    deletion.update(outcome="info", error="timed out")
