"""One cluster with one metadata log (Q20, M1); a quorum without traces (Q1, Q7, Q11); clients'
requests unseat no leader."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere, probed, several_nodes, untraced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import witness
from checkers.evidence.traced_logs import StoredBatch
from checkers.history.sealed_run import RunInfo
from checkers.quorum.elections import leader_changes
from checkers.verdict import CheckResult, EventValue, counted

# Requests of clients do not unseat the leader of the quorum.


ALTER, EPOCH = "alter-configs", "quorum-epoch"
UNEXPECTED = "UNKNOWN_SERVER_ERROR"
_CHORES = {"known-operations", "unknown-operations"}
_SHOWN = ("op_id", "process", "node", "f", "key", "value", "error")

_Operation = dict[str, Any]


def alters_configs(info: RunInfo) -> bool:
    """Applies where a client alters configurations and asks for the quorum's epoch."""
    return bool(_CHORES & set(info.load.get("chores", ())))


@check(
    "no-request-unseats",
    applies=alters_configs,
    source="Raft thesis 3.4: a leader leads until it fails, or hears of a later epoch",
    rests_on=(Kind.FAULTS,),
)
def no_request_unseats(evidence: Evidence) -> CheckResult:
    """No request of a client unseats the leader of the quorum.

    A request is accused if it was answered with UNKNOWN_SERVER_ERROR, the error of a controller
    that failed in it, and the leader's next answer had a later epoch, before the first fault. A
    leader that lost its followers on a slow machine answers with another error, or not at all.
    Needs: ops.
    """
    until = min((fault.t_start for fault in evidence.faults), default=None)
    sure = [
        (before, request, after)
        for before, request, after in _between_questions(evidence.tables["ops"])
        if until is None or after["t1"] < until
    ]
    violations = [
        _unseated(before, request, after)
        for before, request, after in sure
        if request["error"] == UNEXPECTED and after["value"] > before["value"]
    ]
    return conclude(
        looked_at=len(sure),
        unit="requests",
        violations=violations,
        needs="requests between two answers to the quorum's epoch, before the first fault",
        holds="none of them was followed by a failed controller and another epoch",
        algorithm="epochs of the quorum before and after each request",
    )


def _between_questions(ops: pa.Table) -> Iterator[tuple[_Operation, _Operation, _Operation]]:
    """Requests that were answered, each with the last epoch before it and the first one after."""
    rows = _rows(ops)
    epochs = [row for row in rows if row["f"] == EPOCH and row["outcome"] == "ok"]
    for request in rows:
        if request["f"] != ALTER or request["complete_index"] is None:
            continue
        earlier = [e for e in epochs if e["complete_index"] < request["invoke_index"]]
        later = [e for e in epochs if e["invoke_index"] > request["complete_index"]]
        if earlier and later:
            yield earlier[-1], request, later[0]


def _rows(ops: pa.Table) -> Sequence[_Operation]:
    about = pc.is_in(ops["f"], value_set=pa.array([ALTER, EPOCH]))
    found: list[_Operation] = ops.filter(about).sort_by("invoke_index").to_pylist()
    return found


def _unseated(before: _Operation, request: _Operation, after: _Operation) -> Violation:
    return Violation(
        f"unseated controller: node {request['node']} answered a request with {request['error']}, "
        f"and the quorum went from epoch {before['value']} to {after['value']}",
        [
            {"what": row["f"], "t_ns": row["t0"], **{name: row[name] for name in _SHOWN}}
            for row in (before, request, after)
        ],
    )


# The quorum without traces: Q1, Q7 and Q11 by the disks and by answers to probes.
#
# Apache Kafka is judged this way. A leader answers a probe (DescribeQuorum) at some moment between
# question and answer; a disk shows the end only. Both show less than a trace would.


_NEED = "the controllers' disks, or answers to DescribeQuorum"

_Probe = dict[str, Any]  # a row of PROBES


@check(
    "Q1-monotonic-epoch",
    applies=untraced,
    source="SIM MonotonicEpoch",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def epochs_on_disks(evidence: Evidence) -> CheckResult:
    """Q1: No disk has an older epoch than its node was in.

    Its quorum-state is durable before the epoch is visible, so it has at least the epoch of the
    last record in its log, and of every answer that the node gave as a leader. (SIM MonotonicEpoch)
    """
    looked_at, violations = 0, []
    seen = _epochs_seen(evidence)
    for row in evidence.tables["disks"].to_pylist():
        for epoch, shown in seen.get(row["node"], ()) if row["epoch"] is not None else ():
            looked_at += 1
            if row["epoch"] < epoch:
                text = f"node {row['node']} was in epoch {epoch}, but its disk holds {row['epoch']}"
                on_disk = {"what": "quorum-state file", "node": row["node"], "epoch": row["epoch"]}
                violations.append(Violation(text, [shown, on_disk]))
    return conclude(
        looked_at=looked_at,
        unit="epochs that nodes were in",
        violations=violations,
        needs=_NEED,
        holds="each disk has it, or a newer one",
        algorithm="quorum-state against the log beside it, and against answers to DescribeQuorum",
    )


def _epochs_seen(evidence: Evidence) -> Mapping[int, list[tuple[int, Mapping[str, EventValue]]]]:
    found: dict[int, list[tuple[int, Mapping[str, EventValue]]]] = {}
    for node, log in evidence.metadata_logs.items():
        highest = max(log, key=lambda batch: batch.epoch)
        shown = {"what": "in its log", "node": node, **highest._asdict()}
        found.setdefault(node, []).append((highest.epoch, shown))
    wiped = {node for fault in evidence.faults if fault.wipes for node in fault.nodes}
    for answer in _answers(evidence):
        if answer["leader"] not in wiped:
            found.setdefault(answer["leader"], []).append((answer["epoch"], _shown(answer)))
    return found


@check("Q7-quorum-high-watermark", applies=probed, source="SIM MonotonicHighWatermark, KIP-856")
def reported_high_watermarks(evidence: Evidence) -> CheckResult:
    """Q7: Over the sequence of leaders, by epoch, the high watermark never goes down.

    Nor between two answers of one leader if the second was asked for when the first had come. From
    answers to DescribeQuorum. (SIM MonotonicHighWatermark, KIP-856)
    """
    answers = [answer for answer in _answers(evidence) if answer["high_watermark"] >= 0]
    violations = []
    by_epoch: dict[int, list[_Probe]] = {}
    for answer in answers:
        by_epoch.setdefault(answer["epoch"], []).append(answer)
    peak: _Probe | None = None
    for _, told in sorted(by_epoch.items()):
        lowest = min(told, key=_high_watermark)
        if peak is not None and lowest["high_watermark"] < peak["high_watermark"]:
            violations.append(_lower(peak, lowest))
        violations += _went_down(told)
        peak = max(told if peak is None else [peak, *told], key=_high_watermark)
    return conclude(
        looked_at=len(answers),
        unit="high watermarks that leaders answered",
        violations=violations,
        needs=_NEED,
        holds="it never went down",
        algorithm="running maximum over epochs, and over answers that did not overlap",
    )


def _went_down(told: list[_Probe]) -> Iterator[Violation]:
    """Within one epoch: below an answer that had come before it was asked for."""
    answered = sorted(told, key=lambda answer: int(answer["t1"]))
    at, peak = 0, None
    for answer in sorted(told, key=lambda answer: int(answer["t0"])):
        while answered[at]["t1"] < answer["t0"]:
            peak = max(peak or answered[at], answered[at], key=_high_watermark)
            at += 1
        if peak is not None and answer["high_watermark"] < peak["high_watermark"]:
            yield _lower(peak, answer)


def _lower(peak: _Probe, answer: _Probe) -> Violation:
    text = f"the leader of epoch {answer['epoch']}, node {answer['leader']}, had high watermark "
    text += f"{answer['high_watermark']}, below {peak['high_watermark']} of epoch {peak['epoch']}"
    return Violation(text, [_shown(peak), _shown(answer)])


@check(
    "Q11-leader-completeness",
    applies=probed,
    source="Raft, Leader Completeness; figure 8",
    rests_on=(Kind.METADATA_LOGS,),
)
def later_leaders_hold_committed(evidence: Evidence) -> CheckResult:
    """Q11: Every leader's log contains all that was committed in earlier epochs.

    A leader writes its LeaderChange at the end of its log, so that record is at or above every high
    watermark that a leader of an earlier epoch answered; its own answers must be above its own
    record, and in the end the log is at least as long. (Raft, Leader Completeness; figure 8)
    """
    answers = [answer for answer in _answers(evidence) if answer["high_watermark"] > 0]
    starts = {row["epoch"]: row for row in evidence.once(leader_changes)}
    highest: dict[int, _Probe] = {}
    for answer in answers:
        known = highest.get(answer["epoch"], answer)
        highest[answer["epoch"]] = max(known, answer, key=_high_watermark)
    violations = []
    for epoch, answer in sorted(highest.items()):
        later = [row for at, row in sorted(starts.items()) if at > epoch]
        violations += [
            _without(answer, row) for row in later if row["offset"] < answer["high_watermark"]
        ]
    violations += _above_own_record(answers, starts)
    if highest:
        violations += _shorter(evidence, max(highest.values(), key=_high_watermark))
    return conclude(
        looked_at=len(answers),
        unit="high watermarks that leaders answered",
        violations=violations,
        needs=_NEED,
        holds="each later leader began above them",
        algorithm="highest answer of each epoch against later LeaderChange records and log ends",
    )


def _without(answer: _Probe, row: Mapping[str, int]) -> Violation:
    text = f"node {row['leader']} became leader of epoch {row['epoch']} with a log that ended at "
    text += f"{row['offset']}, but {answer['high_watermark']} was committed in epoch "
    change: dict[str, EventValue] = {"what": "LeaderChange record", **row}
    return Violation(f"{text}{answer['epoch']}", [_shown(answer), change])


def _above_own_record(
    answers: list[_Probe], starts: Mapping[int, Mapping[str, int]]
) -> Iterator[Violation]:
    for answer in answers:
        start = starts.get(answer["epoch"])
        if start is not None and answer["high_watermark"] <= start["offset"]:
            text = f"node {answer['leader']} answered high watermark {answer['high_watermark']} in "
            text += f"epoch {answer['epoch']}, which has its LeaderChange at {start['offset']}"
            yield Violation(text, [_shown(answer), {"what": "LeaderChange record", **start}])


def _shorter(evidence: Evidence, answer: _Probe) -> Iterator[Violation]:
    ends = [
        row["log_end"] for row in evidence.tables["disks"].to_pylist() if row["log_end"] is not None
    ]
    if ends and max(ends) < answer["high_watermark"]:
        text = f"{answer['high_watermark']} was committed in epoch {answer['epoch']}, but the "
        yield Violation(f"{text}longest log on a disk ends at {max(ends)}", [_shown(answer)])


def _answers(evidence: Evidence) -> list[_Probe]:
    """What leaders said about themselves, whichever node was asked and passed it on."""
    return [
        row
        for row in evidence.tables["probes"].to_pylist()
        if row["kind"] == "quorum"
        and None not in (row["epoch"], row["high_watermark"])
        and row["leader"] not in (None, -1)
    ]


def _high_watermark(answer: _Probe) -> int:
    return int(answer["high_watermark"])


def _shown(answer: _Probe) -> dict[str, EventValue]:
    names = ("node", "leader", "epoch", "high_watermark")
    told = {name: answer[name] for name in names}
    return {"what": "answer to DescribeQuorum", "t_ns": answer["t0"], **told}


@check(
    "M1-metadata-logs-agree",
    applies=several_nodes,
    source="KIP-966 MetadataLogMatching",
    rests_on=(Kind.METADATA_LOGS,),
)
def metadata_logs_agree(evidence: Evidence) -> CheckResult:
    """M1: The metadata logs of all nodes agree, each as far as it goes.

    Two logs that both hold batches of an epoch are both copies of what its leader wrote, so they
    agree on everything up to where the shorter one ends in the highest such epoch. Above that a log
    may hold uncommitted records. From the disks, of controllers and brokers alike, and lost ones
    included. (KIP-966 MetadataLogMatching)
    """
    looked_at, violations = 0, []
    for one, two in combinations(_logs(evidence), 2):
        end = _common_end(one.batches, two.batches)
        start = max(one.batches[0].base, two.batches[0].base)
        mine, other = (_between(log.batches, start, end) for log in (one, two))
        looked_at += min(len(mine), len(other))
        differ = next((pair for pair in zip_longest(mine, other) if pair[0] != pair[1]), None)
        if differ is not None:
            violations.append(_differ(one, two, *differ))
    return conclude(
        looked_at=looked_at,
        unit="batches of pairs of disks",
        violations=violations,
        needs="the metadata logs of two disks that have an epoch in common",
        holds="all nodes have the same",
        algorithm="pairs of logs, up to the shorter end in their highest common epoch",
    )


@dataclass(frozen=True, slots=True)
class _Log:
    node: int
    name: str
    batches: Sequence[StoredBatch]


def _logs(evidence: Evidence) -> list[_Log]:
    """Of all disks, existing ones and then lost ones; without empty logs."""
    there = [_Log(node, f"node {node}", log) for node, log in evidence.metadata_logs.items()]
    gone = [
        _Log(replica.node, f"a lost disk of node {replica.node}", log)
        for replica, log in evidence.lost_logs.items()
        if log
    ]
    return [*sorted(there, key=lambda log: log.node), *gone]


def _common_end(one: Sequence[StoredBatch], other: Sequence[StoredBatch]) -> int:
    """The offset up to which the leader of the highest epoch in both logs determines both; 0: no
    such epoch."""
    common = {batch.epoch for batch in one} & {batch.epoch for batch in other}
    if not common:
        return 0
    highest = max(common)
    return min(max(b.last for b in log if b.epoch == highest) + 1 for log in (one, other))


def _between(log: Sequence[StoredBatch], start: int, end: int) -> list[StoredBatch]:
    return [batch for batch in log if batch.base >= start and batch.last < end]


def _differ(one: _Log, two: _Log, mine: StoredBatch | None, other: StoredBatch | None) -> Violation:
    pair = ((one.node, mine), (two.node, other))
    offset = min(batch.base for _, batch in pair if batch is not None)
    shown: list[dict[str, EventValue]] = [
        {"what": "on the disk", "node": node, **batch._asdict()}
        if batch is not None
        else {"what": "has no batch there", "node": node}
        for node, batch in pair
    ]
    text = f"the metadata logs of {one.name} and {two.name} differ at offset {offset}, yet hold "
    return Violation(f"{text}batches of the same leader behind it", shown)


@check(
    "Q20-one-cluster",
    applies=everywhere,
    source="KIP-595, INCONSISTENT_CLUSTER_ID",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def one_cluster(evidence: Evidence) -> CheckResult:
    """Q20: All nodes of a run, whatever disks they have had, are of one cluster.

    From n.start of each process, and meta.properties of the disks at the end: the files of two
    clusters must not mix. (KIP-595, INCONSISTENT_CLUSTER_ID)
    """
    told = list(_clusters(evidence))
    violations = [
        Violation(
            f"node {node} is of cluster {cluster}, but node {told[0][0]} of {told[0][1]}", [shown]
        )
        for node, cluster, shown in told
        if cluster != told[0][1]
    ]
    return conclude(
        looked_at=len(told),
        unit="processes and disks",
        violations=violations,
        needs="traces of the nodes, or disks read after the run",
        holds="each named the same cluster",
        algorithm="cluster ids",
        nothing=f"{counted(evidence.info.nodes, 'node')} named none",
    )


def _clusters(evidence: Evidence) -> Iterator[tuple[int, str, Mapping[str, EventValue]]]:
    """Which nodes named which cluster, and where."""
    for event in (event for life in evidence.lives for event in life.events("n.start")):
        cluster = event.more.get("cluster")
        if isinstance(cluster, str):
            yield event.node, cluster, witness(event, f"starts in cluster {cluster}")
    for row in evidence.tables["disks"].to_pylist():
        if row["cluster_id"] is not None:
            where = {"what": "meta.properties", "node": row["node"]}
            yield row["node"], row["cluster_id"], where
