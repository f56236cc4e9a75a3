"""Changes of voters, by the traces of nodes that saw them: V2 to V4, V6, V9, V10 and Q19.

A process is followed line by line. Its own set of voters (q.voters) changes with each record that
it appends or truncates; the log ends of others are in the leader's lines about their Fetches
(q.fetch), each replica by node and directory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.check import check, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.voter_history import ReplicaKey, TracedVoters
from checkers.history.tables import NO_DIRECTORY
from checkers.verdict import CheckResult

V2, V3, V4 = "V2-one-change-uncommitted", "V3-epoch-committed-before-change", "V4-voters-of-the-log"
V6, V9, V10 = "V6-committed-by-voters", "V9-removed-leader-resigns", "V10-added-when-caught-up"
Q19 = "Q19-voters-stand-for-election"

_EVENTS = ("q.state", "q.voters", "q.append", "q.truncate", "q.loaded", "q.hwm", "q.fetch")
_STANDS = ("prospective", "candidate", "leader")
_NOTHING = "no node's voters changed, and no disk was replaced"


class _Line(NamedTuple):
    """The needed fields of a process' line. NONE or None: it does not have that field."""

    row: int
    event: str
    epoch: int
    log_end: int
    base: int
    hwm: int
    replica: int
    offset: int
    is_valid: bool  # it is about a valid Fetch
    state: str
    replica_directory: str


@dataclass(slots=True)
class _Reign:
    """The actions of a process as the leader of one epoch."""

    epoch: int
    start: int | None = None  # of its first batch
    hwm: int = -1
    removed: _Line | None = None  # the line by which its removal is committed
    ends: dict[ReplicaKey, int] = field(default_factory=dict)  # by their Fetches


@dataclass(slots=True)
class Followed:
    """By check: what was looked at, and the violations."""

    looked_at: dict[str, int] = field(default_factory=dict)
    violations: dict[str, list[Violation]] = field(default_factory=dict)

    def look(self, name: str) -> None:
        self.looked_at[name] = self.looked_at.get(name, 0) + 1

    def blame(self, name: str, text: str, *lines: tuple[NodeEvent, str]) -> None:
        shown = [witness(line, what) for line, what in lines]
        self.violations.setdefault(name, []).append(Violation(text, shown))


def followed(evidence: Evidence) -> Followed:
    """All processes of a run in which voters changed, or a node had more than one disk."""
    found = Followed()
    if not _anything_changed(evidence):
        return found
    for life in evidence.lives:
        for process in life.processes:
            if process.gap is None:
                _Walk(process, found).walk()
    return found


def _anything_changed(evidence: Evidence) -> bool:
    disks = [(life.node, life.directory) for life in evidence.lives]
    if len(disks) > len({node for node, _ in disks}):
        return True
    told = {
        TracedVoters.of(line).voters.keys
        for life in evidence.lives
        for line in life.events("q.voters")
    }
    return len(told) > 1


def _is_first(before: TracedVoters, new: TracedVoters) -> bool:
    """The first leader of listed nodes learned which disks they have (KIP-856): no other set can
    vote, and nothing could be committed before."""
    by_id = any(key.directory == NO_DIRECTORY for key in before.voters.keys)
    same = sorted(key.node for key in new.voters.keys) == list(before.voters.nodes)
    return by_id and same


class _Walk:
    """One process, line by line."""

    def __init__(self, process: Process, found: Followed) -> None:
        self._process = process
        self._found = found
        self._self = ReplicaKey(process.node, process.directory)
        self._told: list[
            TracedVoters
        ] = []  # in the order of their offsets; the last one is in force
        self._cut: _Line | None = None  # a truncation below the set in force
        self._appended: _Line | None = None
        self._reign: _Reign | None = None
        self._committed = -1  # the highest high watermark of this process

    def walk(self) -> None:
        steps = {
            "q.state": self._state,
            "q.voters": self._voters,
            "q.append": self._append,
            "q.truncate": self._truncate,
            "q.loaded": self._truncate,
            "q.hwm": self._commit,
            "q.fetch": self._fetch,
        }
        for line in _lines(self._process):
            steps[line.event](line)

    def _whole(self, line: _Line) -> NodeEvent:
        return self._process.traces.line(line.row)

    def _state(self, line: _Line) -> None:
        if line.state in _STANDS and self._told:
            self._stands(line, *self._told[-2:])
        leads = line.state == "leader"
        if leads and (self._reign is None or self._reign.epoch != line.epoch):
            self._reign = _Reign(line.epoch)
        elif not leads:
            self._reign = None

    def _stands(self, line: _Line, *told: TracedVoters) -> None:
        self._found.look(Q19)
        before, newest = told[0], told[-1]
        leads_on = self._reign is not None and self._reign.epoch == line.epoch
        is_committed = self._committed > newest.offset
        is_being_removed = self._self in before.voters.keys and not is_committed
        votes = newest.voters.includes(self._self)
        if not (votes or is_being_removed or leads_on):
            what = f"node {self._process.node} is {line.state} in epoch {line.epoch}, but by "
            what += f"its log its disk is no voter's: {newest.in_words} are voters"
            stands = (self._whole(line), "stands for election")
            self._found.blame(Q19, what, (newest.line, "voters"), stands)

    def _append(self, line: _Line) -> None:
        self._check_cut()
        self._appended = line
        reign = self._reign
        if reign is not None and line.epoch == reign.epoch and reign.start is None:
            reign.start = line.base

    def _truncate(self, line: _Line) -> None:
        """A log that a snapshot replaces loses the records above it; its voters are traced
        again."""
        if self._told and self._told[-1].offset >= line.log_end and self._told[-1].line.epoch > 0:
            self._cut = line

    def _check_cut(self) -> None:
        if self._cut is None:
            return
        newest = self._told[-1]
        what = f"node {self._process.node} truncated the record at {newest.offset} by which "
        what += f"{newest.in_words} vote, but goes on by it"
        cuts = (self._whole(self._cut), "truncates it")
        self._found.blame(V4, what, (newest.line, "voters"), cuts)
        self._cut = None

    def _voters(self, line: _Line) -> None:
        self._found.look(V4)
        self._cut = None
        new = TracedVoters.of(self._whole(line))
        if self._told and line.offset > self._told[-1].offset:
            self._change(self._told[-1], new)
        self._told = [told for told in self._told if told.offset < line.offset] + [new]

    def _change(self, before: TracedVoters, new: TracedVoters) -> None:
        """By a leader, and not with the first batch of its epoch."""
        reign, written = self._reign, self._appended
        if reign is None or written is None or new.line.epoch != reign.epoch:
            return
        if reign.start is None or written.base == reign.start or _is_first(before, new):
            return
        told = f"node {new.line.node} changed the voters at {new.offset} in epoch {reign.epoch}"
        for name in (V2, V3, V10):
            self._found.look(name)
        if reign.hwm <= reign.start:
            what = f"{told}, but nothing of that epoch was committed"
            self._found.blame(V3, what, (self._whole(written), "writes"), (new.line, "voters"))
        if before.line.epoch == reign.epoch and reign.hwm <= before.offset:
            what = f"{told}, but the change at {before.offset} was not committed"
            self._found.blame(V2, what, (before.line, "voters"), (new.line, "voters"))
        for key in sorted(key for key in new.voters.keys if not before.voters.includes(key)):
            if reign.ends.get(key, -1) < written.base:
                what = f"{told}: added node {key.node}; its log ended at "
                what += f"{reign.ends.get(key, 'at an unknown offset')}, not at {written.base}"
                self._found.blame(V10, what, (new.line, "voters"))

    def _fetch(self, line: _Line) -> None:
        reign = self._reign
        if reign is not None and line.epoch == reign.epoch and line.is_valid:
            reign.ends[ReplicaKey(line.replica, line.replica_directory)] = line.offset

    def _commit(self, line: _Line) -> None:
        self._committed = max(self._committed, line.hwm)
        reign = self._reign
        if reign is None or line.epoch != reign.epoch or not self._told:
            return
        reign.hwm = line.hwm
        newest = self._told[-1]
        self._found.look(V6)
        have = {key for key, end in reign.ends.items() if end >= line.hwm} | {self._self}
        if not newest.voters.has_majority(have):
            what = f"node {self._process.node} committed all below {line.hwm} in epoch "
            what += f"{line.epoch}, but of {newest.in_words} no majority had fetched that far"
            commits = (self._whole(line), "commits")
            self._found.blame(V6, what, (newest.line, "voters"), commits)
        self._resigns(line, reign)

    def _resigns(self, line: _Line, reign: _Reign) -> None:
        """By any set since its epoch began: also one after which it wrote another change."""
        in_force = self._in_force(reign)
        without = [told for told in in_force if not told.voters.includes(self._self)]
        if not without:
            return
        self._found.look(V9)
        if reign.removed is not None:
            what = f"node {self._process.node} leads on in epoch {line.epoch}, but its removal "
            what += "was committed"
            removed = (self._whole(reign.removed), "commits it")
            self._found.blame(V9, what, removed, (self._whole(line), "leads on"))
        elif line.hwm > without[0].offset:
            reign.removed = line

    def _in_force(self, reign: _Reign) -> list[TracedVoters]:
        """The sets since then, and the last one before."""
        start = reign.start or 0
        before = sum(told.offset < start for told in self._told)
        return self._told[max(before - 1, 0) :]


def _lines(process: Process) -> Iterator[_Line]:
    traces, rows = process.traces, process.rows(*_EVENTS)
    names = ("epoch", "log_end", "base", "hwm", "replica", "offset")
    return map(
        _Line,
        rows.tolist(),
        traces.events(rows),
        *(traces.column(name)[rows].tolist() for name in names),
        traces.has("outcome", "valid", rows).tolist(),
        traces.texts("state", rows),
        traces.texts("replica_directory", rows),
    )


@check(V2, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def one_change_uncommitted(evidence: Evidence) -> CheckResult:
    """V2: A leader changes the voters only once its previous change is committed.

    From q.voters, q.append and q.hwm of its process; not of the first batch of an epoch. (KIP-856,
    "Adding Voters")
    """
    return _judged(evidence, V2, "changes of voters", "the one before was committed")


@check(V3, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def epoch_committed_before_change(evidence: Evidence) -> CheckResult:
    """V3: A leader changes the voters only once it has committed a record in its epoch.

    From q.voters, q.append and q.hwm of its process; not of the first batch of an epoch, nor of the
    one that first names the disks of listed nodes. (KIP-856; the bug of single-server changes,
    Ongaro 2015)
    """
    return _judged(evidence, V3, "changes of voters", "its epoch had committed a record before")


@check(V4, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def voters_of_the_log(evidence: Evidence) -> CheckResult:
    """V4: A node's voters are those in its log, committed or not; a truncated change is undone.

    From q.voters, which follows each q.truncate that removes the record of the set in force.
    (KIP-856, "Internal Listener")
    """
    return _judged(evidence, V4, "sets of voters that nodes used", "none outlived its record")


@check(V6, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def committed_by_voters(evidence: Evidence) -> CheckResult:
    """V6: A majority of the voters, each with its disk, has all records that a leader commits; a
    leader that is no longer a voter does not count itself.

    From q.hwm, and the q.fetch of the same leader and epoch before it. (KIP-856, "High Watermark")
    """
    return _judged(evidence, V6, "high watermarks", "a majority of the voters had fetched each")


@check(V9, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def removed_leader_resigns(evidence: Evidence) -> CheckResult:
    """V9: A removed leader commits nothing more once its removal is committed.

    From q.hwm and q.voters of its process. (KIP-856, "Removing Voters")
    """
    return _judged(
        evidence,
        V9,
        "high watermarks of removed leaders",
        "none committed on after its removal",
        nothing="no leader was removed",
    )


@check(V10, applies=traced_quorum, source="KIP-856", rests_on=(Kind.TRACES,))
def added_when_caught_up(evidence: Evidence) -> CheckResult:
    """V10: A replica that is added to the voters has all records of the leader when the leader
    writes the change.

    From the last q.fetch of that replica, by node and directory, before the leader's q.append.
    (KIP-856, "AddVoter", Handling)
    """
    return _judged(evidence, V10, "changes of voters", "each added replica had all records")


@check(Q19, applies=traced_quorum, source="KR StatesMatchRoles", rests_on=(Kind.TRACES,))
def voters_stand_for_election(evidence: Evidence) -> CheckResult:
    """Q19: A node that stands for election, or begins to lead, is a voter by its own log, with its
    current disk.

    From q.state, q.voters and q.hwm; a leader may remove itself. A node may stand if its removal is
    not committed as far as its process knows: without it no node might be elected. (KR
    StatesMatchRoles, KIP-856, Raft thesis 4.2.2)
    """
    return _judged(evidence, Q19, "candidates and leaders", "each was a voter by its own log")


def _judged(
    evidence: Evidence, name: str, unit: str, holds: str, nothing: str = _NOTHING
) -> CheckResult:
    found = evidence.once(followed)
    return conclude(
        looked_at=found.looked_at.get(name, 0),
        unit=unit,
        violations=found.violations.get(name, []),
        needs=NEED,
        holds=holds,
        algorithm="each process followed line by line, with the sets of voters it traced",
        gaps=gaps(evidence.lives),
        nothing=nothing if evidence.lives else "",
    )
