"""What a run should have left and did not: files, lines, rows, processes, probes, nodes' answers.

What should be there is known from elsewhere: from the plan of the run, from what the recorder, the
clients and the harness counted themselves, from the numbers of trace lines, and from the inventory
of collected files. Nothing of this accuses a node; it says which kind of evidence is incomplete, so
that its absence proves nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.faults import FaultFact, Kind, faults_of
from checkers.evidence.voter_history import lost_disks
from checkers.history.sealed_run import Run, RunInfo
from checkers.verdict import counted

# Missing answers of nodes to the harness, which probes all of them all the time.
#
# A node that a fault has hit need not answer, nor one that is just recovering from it, nor one that
# has ended by itself. After any other silence of a node, its state in that time is unknown.


_SECOND = 1_000_000_000
# Each node is asked twice a second. The unexplained part of the time between two answers may be
# this long, by the runtime: a real machine may be busy.
_SILENT_S = {"sim": 2.0}
_SILENT_REAL_S = 10.0
# After a cure: a restarted process registers before it answers.
_COMES_BACK_S = 5.0
# After any fault: until a node leads again.
_ELECTS_S = 15.0

Times = tuple[int, int]  # from, until


def missing_answers(run: Run) -> Iterator[tuple[str, str]]:
    """For partitions: which broker did not answer, and for how long."""
    probes = run.tables["probes"]
    mine = probes.filter(pc.equal(probes["kind"], "partition"))
    if not mine.num_rows:
        return
    begin, end = int(pc.min(mine["t0"]).as_py()), _asked_until(run)
    for node in _brokers(run.info):
        answered = mine.filter(pc.equal(mine["node"], node))["t0"].unique().to_pylist()
        excused = list(_excused(run, node))
        longest = _longest(answered, begin, end, excused)
        if longest > _most_ns(run.info):
            yield f"node {node}", _words(longest, "it answered nothing about partitions", answered)


def missing_leaders(run: Run) -> Iterator[tuple[str, str]]:
    """For the quorum: for how long no node said that it leads."""
    probes = run.tables["probes"]
    mine = probes.filter(pc.equal(probes["kind"], "quorum"))
    if not mine.num_rows:
        return
    begin, end = int(pc.min(mine["t0"]).as_py()), _asked_until(run)
    answered = mine["t0"].unique().to_pylist()
    behind = int(_ELECTS_S * _SECOND)
    faults = [fault for fault in faults_of(run) if fault.may_harm]
    # Voters that lost their disks may leave no majority, and a stuck quorum has no leader: either
    # is reported by its own check.
    excused = [(f.t_start, end if f.wipes else f.over_ns + behind) for f in faults]
    excused += [(int(each["t_ns"]), end) for each in run.info.unasked_ends]
    if run.info.stuck:
        excused.append((faults[-1].t_start if faults else begin, end))
    longest = _longest(answered, begin, end, excused)
    if longest > _most_ns(run.info):
        yield "probes", _words(longest, "no node said that it leads the quorum", answered)


def _brokers(info: RunInfo) -> list[int]:
    return sorted(int(node) for node, role in info.roles.items() if "broker" in role)


def _asked_until(run: Run) -> int:
    """The harness asks until clients have ended."""
    ended = pc.max(run.tables["ops"]["t1"]).as_py()
    return int(ended or 0)


def _most_ns(info: RunInfo) -> int:
    return int(_SILENT_S.get(info.runtime, _SILENT_REAL_S) * _SECOND)


def _excused(run: Run, node: int) -> Iterator[Times]:
    """The times at which it may be silent. A starting broker waits for a controller, so faults that
    hit controllers may excuse it."""
    behind = int(_COMES_BACK_S * _SECOND)
    faults = faults_of(run)
    mine = [fault for fault in faults if node in fault.nodes]
    yield from ((fault.t_start, fault.over_ns + behind) for fault in mine)
    for fault in mine if any(each.ends_process for each in mine) else ():
        yield from _kept_away(fault, faults, behind)
    for each in run.info.unasked_ends:
        if int(each["node"]) == node:
            yield int(each["t_ns"]), run.info.duration_ns


def _kept_away(own: FaultFact, faults: Sequence[FaultFact], behind: int) -> Iterator[Times]:
    """While faults follow a fault that ended its process."""
    until = own.over_ns + behind
    for fault in faults:
        if own.ends_process and fault.may_harm and fault.t_start <= until < fault.over_ns + behind:
            until = fault.over_ns + behind
            yield fault.t_start, until


def _longest(answered: Iterable[int], begin: int, end: int, excused: Sequence[Times]) -> int:
    """Of the times between answers, the longest, without its excused part."""
    marks = sorted({begin, end, *(int(t) for t in answered)})
    gaps = ((a, b) for a, b in pairwise(marks) if b <= end)
    return max((_unexcused(a, b, excused) for a, b in gaps), default=0)


def _unexcused(begin: int, end: int, excused: Sequence[Times]) -> int:
    left, at = 0, begin
    for since, until in sorted(excused):
        left += max(min(since, end) - at, 0)
        at = min(max(at, until), end)
    return left + max(end - at, 0)


def _words(longest: int, what: str, answered: Sequence[int]) -> str:
    text = f"for {longest / _SECOND:.1f} s that no fault explains, {what}"
    return text if answered else f"{text}, nor at any other time"


# What is missing in the nodes' traces: nodes, processes, lines, ends.
#
# Each process of a node numbers its lines from 0 and, if it ends in good order, prints `n.stop`
# last. The harness counts the processes that it started and that answered, how the last process of
# each node ended, and the lines that it collected.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """A summary of one process' lines."""

    node: int
    lines: int
    first: int  # the lowest line number, and the highest
    last: int
    began_ns: int
    stopped: bool  # the line with the highest number is n.stop

    @property
    def is_whole(self) -> bool:
        return self.first == 0 and self.last == self.lines - 1


def missing_traces(run: Run) -> Iterator[tuple[str, str]]:
    """The nodes with missing trace lines, and what is missing."""
    events = run.tables["node_events"]
    accounts = _accounts(events)
    for node in range(1, run.info.nodes + 1):
        mine = [account for account in accounts if account.node == node]
        for what in _missing_of(run, node, mine):
            yield f"node {node}", what


def _missing_of(run: Run, node: int, mine: list[_Account]) -> Iterator[str]:
    name, info = str(node), run.info
    if not mine:
        yield "it left no trace"
        return
    for account in mine:
        if not account.is_whole:
            lines = account.last - account.first + 1 - account.lines + account.first
            yield f"{lines:,} of {account.last + 1:,} lines of one process are missing"
    started = info.starts.get(name, 0)
    if len(mine) < started:
        yield f"{started} of its processes answered, but {len(mine)} left a trace"
    last = max(mine, key=lambda account: account.began_ns)
    if info.endings.get(name) == "stopped" and not last.stopped:
        yield "it was stopped in good order, but its trace does not end with that"
    collected = info.trace_lines.get(name)
    found = sum(account.lines for account in mine) + run.broken_lines.get(name, 0)
    if collected is not None and found != collected:
        yield f"{counted(collected, 'line was', 'lines were')} collected, but {found:,} are left"


def _accounts(events: pa.Table) -> list[_Account]:
    known = events.filter(events["seq"].is_valid())
    stops = {
        (row["node"], row["directory"], row["incarnation"]): row["seq"]
        for row in known.filter(pa.compute.equal(known["event"], "n.stop")).to_pylist()
    }
    grouped = known.group_by(["node", "directory", "incarnation"]).aggregate(
        [("seq", "count"), ("seq", "min"), ("seq", "max"), ("t", "min")]
    )
    return [
        _Account(
            node=row["node"],
            lines=row["seq_count"],
            first=row["seq_min"],
            last=row["seq_max"],
            began_ns=row["t_min"],
            stopped=stops.get((row["node"], row["directory"], row["incarnation"]))
            == row["seq_max"],
        )
        for row in grouped.to_pylist()
    ]


# Probes follow each other after half a second, and take at most as long again.
LONGEST_GAP_MS = 10_000

_TABLES = {
    "node_events": Kind.TRACES,
    "log_errors": Kind.NODE_LOGS,
    "log_batches": Kind.METADATA_LOGS,
    "log_records": Kind.METADATA_LOGS,
    "snapshot_records": Kind.METADATA_LOGS,
    "disks": Kind.METADATA_LOGS,
    "lost_batches": Kind.METADATA_LOGS,
    "lost_records": Kind.METADATA_LOGS,
    "lost_disks": Kind.METADATA_LOGS,
    "replicas": Kind.PARTITION_LOGS,
    "replica_batches": Kind.PARTITION_LOGS,
    "replica_spans": Kind.PARTITION_LOGS,
}
_PROBES = {Kind.QUORUM_PROBES: "quorum", Kind.PARTITION_PROBES: "partition"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A missing part of one kind of evidence; `where` is a node, a table or a file of the run."""

    kind: Kind
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def missing(run: Run) -> tuple[Missing, ...]:
    """All that is known to be missing of the kinds of evidence that the run was planned to leave.

    If a run broke off before its evidence was counted, little can be known to be missing:
    `evidence-complete` says that nothing was counted.
    """
    found = (
        *_files(run),
        *_operations(run),
        *_faults(run),
        *(Missing(kind=Kind.TRACES, where=w, what=s) for w, s in missing_traces(run)),
        *_logs(run),
        *_disks(run),
        *_lost_disks(run),
        *_rows(run),
        *_probes(run),
        *(Missing(kind=Kind.PARTITION_PROBES, where=w, what=s) for w, s in missing_answers(run)),
        *(Missing(kind=Kind.QUORUM_PROBES, where=w, what=s) for w, s in missing_leaders(run)),
    )
    return tuple(each for each in found if each.kind in run.info.gives)


def nothing_was_counted(run: Run) -> bool:
    """Whether it is not known how much there should be."""
    info = run.info
    return info.recorded is None or info.inventory_crc32c is None or not run.rows


def _files(run: Run) -> Iterator[Missing]:
    for name, what in run.differs.items():
        for kind in _kinds_of_file(name, run.info):
            yield Missing(kind=kind, where=name, what=what)
    for note in run.truncated:
        name = note.partition(":")[0]
        for kind in _kinds_of_file(name, run.info):
            yield Missing(kind=kind, where=name, what=note.partition(": ")[2])


def _kinds_of_file(name: str, info: RunInfo) -> tuple[Kind, ...]:
    """The evidence in a file of a run; for the inventory, the evidence in all files."""
    folder, _, rest = name.partition("/")
    if folder == "inventory.json":
        return tuple(Kind(kind) for kind in info.gives)
    if name.startswith("events-ops"):
        return (Kind.OPERATIONS,)
    if name.startswith("events-"):
        return (Kind.FAULTS, *_PROBES)
    if folder == "logs":
        return (Kind.TRACES, Kind.NODE_LOGS) if rest.endswith(".log") else ()
    if "__cluster_metadata-0/" in rest:
        return (Kind.METADATA_LOGS,)
    # Beside the logs are the identity of the disk and checkpoints of all its logs.
    is_partition = rest.count("/") > 1 and not rest.endswith("meta.properties")
    return (Kind.PARTITION_LOGS,) if is_partition else (Kind.METADATA_LOGS, Kind.PARTITION_LOGS)


def _operations(run: Run) -> Iterator[Missing]:
    recorded, counted = run.info.recorded, run.info.counted
    if recorded is None:
        return
    ops, spans = run.tables["ops"], run.tables["spans"]
    for what, found in {**_outcomes(ops), **_sent_and_polled(spans)}.items():
        if found != recorded.get(what, 0):
            yield _fewer("ops", f"{recorded.get(what, 0):,} {what} were recorded", found)
    if counted is not None:
        for what, number in counted.items():
            if number != recorded.get(what, 0):
                yield _fewer("ops", f"clients counted {number:,} {what}", recorded.get(what, 0))
    if not _is_dense(ops):
        yield Missing(kind=Kind.OPERATIONS, where="ops", what="the order of events has gaps")
    if what := _outside(ops, run.info):
        yield Missing(kind=Kind.OPERATIONS, where="ops", what=what)


def _fewer(where: str, should: str, found: int, kind: Kind = Kind.OPERATIONS) -> Missing:
    return Missing(kind=kind, where=where, what=f"{should}, but {found:,} are left")


def _outcomes(ops: pa.Table) -> dict[str, int]:
    """As the recorder counts them: an operation that never ended has no outcome yet."""
    ended = ops.filter(ops["complete_index"].is_valid())["outcome"].value_counts().to_pylist()
    by_word = {each["values"]: each["counts"] for each in ended}
    return {"invoked": ops.num_rows, **{n: by_word.get(n, 0) for n in ("ok", "fail", "info")}}


def _sent_and_polled(spans: pa.Table) -> dict[str, int]:
    sent = pc.sum(spans["sent"]).as_py() or 0
    return {"sent": sent, "polled": spans.num_rows - sent}


def _is_dense(ops: pa.Table) -> bool:
    """Whether every invocation and completion has its number from one counter that starts at 0."""
    indices = pa.chunked_array(
        [*ops["invoke_index"].chunks, *ops["complete_index"].drop_null().chunks], pa.int64()
    )
    if not len(indices):
        return True
    bounds = pc.min_max(indices).as_py()
    return bounds == {"min": 0, "max": len(indices) - 1} and _all_differ(indices)


def _all_differ(indices: pa.ChunkedArray) -> bool:
    """Numbers from 0 to their count less one, by their sum."""
    return bool(pc.sum(indices).as_py() == len(indices) * (len(indices) - 1) // 2)


def _outside(ops: pa.Table, info: RunInfo) -> str:
    """The operations that begin before the run, or end before they begin or after the run, in
    words: the recorder notes what happens as it happens, and no such thing."""
    began, ended = ops["t0"], ops["t1"]
    impossible = pc.or_kleene(pc.less(began, 0), pc.less(ended, began))
    if info.finished:
        impossible = pc.or_kleene(impossible, pc.greater(ended, info.duration_ns))
    number = pc.sum(impossible).as_py()
    if not number:
        return ""
    return f"{counted(number, 'operation lies', 'operations lie')} outside of the run's time"


def _faults(run: Run) -> Iterator[Missing]:
    info, found = run.info, run.tables["faults"].num_rows
    if info.recorded is None:
        return
    began = info.recorded.get("faults", 0)
    if found != began:
        yield _fewer(
            "faults", f"{counted(began, 'fault was', 'faults were')} recorded", found, Kind.FAULTS
        )
    tried = began + info.recorded.get("faults-passed-over", 0)  # and perhaps tried again later
    if info.finished and tried < info.planned_faults:
        should = f"{counted(info.planned_faults, 'fault was', 'faults were')} planned"
        yield _fewer("faults", should, tried, Kind.FAULTS)


def _logs(run: Run) -> Iterator[Missing]:
    """Processes that answered, but without a start in any log, by either program's words."""
    own, kafka = run.tables["node_events"], run.tables["log_errors"]
    began = [
        rows_by_node(own.filter(pc.equal(own["event"], "n.start"))),
        rows_by_node(kafka.filter(pc.equal(kafka["level"], "INFO"))),
    ]
    for name, started in run.info.starts.items():
        found = sum(rows.get(name, 0) for rows in began)
        if found < started:
            what = f"{started} of its processes answered, but {found} logged that they started"
            yield Missing(kind=Kind.NODE_LOGS, where=f"node {name}", what=what)


def _disks(run: Run) -> Iterator[Missing]:
    """Disks without a log. Damage in a log that is as it was collected is its node's own."""
    found = {row["node"]: row for row in run.tables["disks"].to_pylist()}
    for node in range(1, run.info.nodes + 1):
        if node not in found or found[node]["log_end"] is None:
            why = found[node]["problem"] if node in found else "its disk was not collected"
            yield Missing(kind=Kind.METADATA_LOGS, where=f"node {node}", what=why)


def _lost_disks(run: Run) -> Iterator[Missing]:
    """Disks that nodes lost by a fault, without a copy of their contents."""
    rows = run.tables["lost_disks"].select(["node", "directory"]).to_pylist()
    kept = {(row["node"], row["directory"]) for row in rows}
    for disk in lost_disks(faults_of(run)):
        if disk.replica not in kept:
            where = f"lost disk {disk.replica.directory} of node {disk.replica.node}"
            yield Missing(kind=Kind.METADATA_LOGS, where=where, what="its contents are missing")


def _rows(run: Run) -> Iterator[Missing]:
    """Rows by node, compared with the counts taken when the tables were made."""
    for name, counts in run.rows.items():
        there = rows_by_node(run.tables[name])
        for node, number in counts.items():
            found = there.get(node, 0)
            if found != number:
                should = f"{counted(number, 'row')} of node {node} had been sealed"
                yield _fewer(name, should, found, _TABLES[name])


def rows_by_node(table: pa.Table) -> Mapping[str, int]:
    """How many rows of a table each node has."""
    counts = table["node"].drop_null().value_counts().to_pylist()
    return {str(each["values"]): each["counts"] for each in counts}


def rows_to_count(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, int]]:
    """`Run.rows` of tables that were just made from collected files."""
    return {name: dict(rows_by_node(tables[name])) for name in _TABLES}


def _probes(run: Run) -> Iterator[Missing]:
    info = run.info
    if info.recorded is None:
        return
    kinds = run.tables["probes"]["kind"].value_counts().to_pylist()
    there = {each["values"]: each["counts"] for each in kinds}
    for kind, word in _PROBES.items():
        should, found = info.recorded.get(f"probes-{word}", 0), there.get(word, 0)
        if found != should:
            yield _fewer(
                "probes", f"{counted(should, 'answer')} ({word}) had been recorded", found, kind
            )
        elif not found:
            yield Missing(kind=kind, where="probes", what=f"no node answered about a {word}")
        looks = info.looks.get(kind.value, {})
        gap_ms = looks.get("longest_gap_ms", 0)
        if gap_ms > LONGEST_GAP_MS:
            what = f"for {gap_ms / 1000:.1f} s the harness asked no node about a {word}"
            yield Missing(kind=kind, where="probes", what=what)
