"""What must hold after every step of a quorum, judged by logs, and by no decision of the node.

Q2, Q11 and V1 to V6 are those of `docs/reference/invariants.md`; Q12 is beside Q11, for two leaders
that commit different entries at one offset. Committed entries and leaders are kept in `Past`: no
replica needs to know them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chaos.labs.model_check.setting import name
from chaos.labs.model_check.views import Entry, Naming, ReplicaView, VotingKeys, names, voters_by
from node.ids import Epoch, NodeId
from node.raft.voter_forms import VoterChange
from node.wire.raft_voters import AddVoterRequest

STOPPED = "stopped"  # a node found one of its own invariants broken, and stopped
PROMISES = {
    "Q2": "at most one node leads in an epoch",
    "Q11": "a leader has all that was committed before its election",
    "Q12": "no two nodes commit different entries at one offset",
    "V1": "consecutive sets of voters differ by one",
    "V2": "at most one change of an epoch is uncommitted",
    "V3": "voters are changed once the epoch's LeaderChange is committed",
    "V4": "a replica uses the voters that its log names, committed or not",
    "V5": "a change that is answered as done is committed by a majority of the new voters",
    "V6": "a majority of a leader's voters have what it has committed",
    STOPPED: "no node stops itself",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The past, and the used part of the bounds."""

    leaders: tuple[tuple[Epoch, NodeId], ...] = ()
    committed: tuple[Entry, ...] = ()
    changes: int = 0
    disks: int = 0
    crashes: int = 0

    def renamed(self, naming: Naming) -> "Past":
        return replace(
            self,
            leaders=tuple((epoch, naming[node]) for epoch, node in self.leaders),
            committed=tuple(each.renamed(naming) for each in self.committed),
        )

    def after(
        self, before: Sequence[ReplicaView], now: Sequence[ReplicaView], *, crashed: bool
    ) -> "Past":
        leaders, committed = dict(self.leaders), self.committed
        for view in now:
            if view.leads:
                leaders.setdefault(view.epoch, view.key.id)
            committed = max(committed, view.committed_log, key=len)
            new = zip(before, now, strict=True)
        return Past(
            leaders=tuple(sorted(leaders.items())),
            committed=committed,
            changes=self.changes + sum(bool(_written(was, view)) for was, view in new),
            crashes=self.crashes + crashed,
            disks=self.disks + sum(a.key != b.key for a, b in zip(before, now, strict=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPromise:
    promise: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStep:
    """Before and after, of all replicas; `done`: changes that were acknowledged to an operator."""

    past: Past
    before: Sequence[ReplicaView]
    now: Sequence[ReplicaView]
    done: Mapping[NodeId, tuple[VoterChange, ...]]

    def changed(self) -> Iterator[tuple[ReplicaView, ReplicaView]]:
        for was, view in zip(self.before, self.now, strict=True):
            if view is not was and view.key == was.key:
                yield was, view


def broken_by(step: JudgedStep) -> Iterator[BrokenPromise]:
    for was, view in step.changed():
        if view.leads:
            if not (was.leads and was.epoch == view.epoch):
                yield from _elected(step.past, view)
            yield from _change_written(was, view)
        if was.leads and (view.committed or 0) > (was.committed or 0):
            yield from _committed(step, view)
        if view.log != was.log:
            yield from _voters(view)
    for node, changes in step.done.items():
        for change in changes:
            yield from _answered(step, node, change)


def _elected(past: Past, view: ReplicaView) -> Iterator[BrokenPromise]:
    known = dict(past.leaders).get(view.epoch, view.key.id)
    if known != view.key.id:
        what = f"n{known} and {name(view.key)} lead in epoch {view.epoch}"
        yield BrokenPromise(promise="Q2", what=what)
    lost = past.committed[_common(past.committed, view.log) :]
    if lost:
        yield BrokenPromise(promise="Q11", what=f"{name(view.key)} leads without [{lost[0]}]")


def _common(one: Sequence[Entry], other: Sequence[Entry]) -> int:
    """The length of the common prefix of two logs."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def _committed(step: JudgedStep, leader: ReplicaView) -> Iterator[BrokenPromise]:
    committed, known = leader.committed_log, step.past.committed
    if _common(committed, known) < min(len(committed), len(known)):
        yield BrokenPromise(
            promise="Q12",
            what=f"{name(leader.key)} commits [{committed[-1]}], and [{known[-1]}] was committed",
        )
    holders = _holders(step.now, committed)
    if 2 * len(holders & leader.voters) <= len(leader.voters):
        yield BrokenPromise(
            promise="V6",
            what=f"{name(leader.key)} commits [{committed[-1]}], which {names(holders)} have, and"
            f" {names(leader.voters)} are voters",
        )


def _holders(views: Sequence[ReplicaView], committed: Sequence[Entry]) -> VotingKeys:
    """The replicas that have all of it, durably."""
    size = len(committed)
    return frozenset(view.key for view in views if _common(view.log, committed) == size)


def _written(was: ReplicaView, view: ReplicaView) -> list[Entry]:
    """Changes of the voters that a leader wrote."""
    if not (was.leads and view.leads and was.epoch == view.epoch):
        return []
    return [each for each in view.log[len(was.log) :] if each.says_who_votes()]


def _change_written(was: ReplicaView, view: ReplicaView) -> Iterator[BrokenPromise]:
    written = _written(was, view)
    if not written:
        return
    end = was.high_watermark or 0
    own = [each for each in view.log if each.epoch == view.epoch]
    if own[0].next > end:
        what = f"{name(view.key)} writes [{written[0]}], and [{own[0]}] is not committed"
        yield BrokenPromise(promise="V3", what=what)
    pending = [each for each in own if each.says_who_votes() and each.next > end]
    pending = [each for each in pending if each.leader is None]
    if len(pending) > 1:
        what = f"{name(view.key)} writes [{pending[-1]}], and [{pending[0]}] is not committed"
        yield BrokenPromise(promise="V2", what=what)


def _voters(view: ReplicaView) -> Iterator[BrokenPromise]:
    if view.voters and view.says != view.voters:
        what = f"{name(view.key)} uses voters {names(view.says)}; its log has {names(view.voters)}"
        yield BrokenPromise(promise="V4", what=what)
    for size, each in enumerate(view.log):
        before = voters_by(view.log[:size])
        differing = before ^ each.after(before)
        if before and len(differing) > 1:
            what = f"[{each}] of {name(view.key)} follows {names(before)}"
            yield BrokenPromise(promise="V1", what=what)


def _answered(step: JudgedStep, node: NodeId, change: VoterChange) -> Iterator[BrokenPromise]:
    """Done means: a majority of the new voters have it, durably."""
    committed = step.now[node - 1].committed_log
    voters = voters_by(committed)
    is_added = isinstance(change, AddVoterRequest)
    holders = _holders(step.now, committed) & voters
    if (change.voter in voters) != is_added or 2 * len(holders) <= len(voters):
        verb = "add" if is_added else "remove"
        what = f"n{node} acknowledges to {verb} {name(change.voter)}; {names(holders)} of"
        yield BrokenPromise(promise="V5", what=f"{what} {names(voters)} have what is committed")
