"""The voters by the logs, not by what a node makes of them."""

from collections.abc import Callable, Iterable, Iterator

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import (
    Keys,
    KnownBatch,
    KnownBatches,
    are_by_id,
    holds,
)
from node.ids import Epoch, Offset, ReplicaKey
from node.raft.roles import Leader
from node.records.batch import Batch
from node.records.control import AddVoter, RemoveVoter, Voters, decode_control


def named_in(control: Batch, before: KnownBatch) -> Keys | None:
    """The voters that a control batch after `before` names; None: it names none."""
    naming, names = before.naming, None
    known = naming.names if naming is not None and naming.names is not None else frozenset()
    for record in control.records():
        match decode_control(record.key, record.value):
            case Voters(voters=rows):
                names = known = frozenset(voter.key for voter in rows)
            case AddVoter(key=key):
                names = known = known | {key}
            case RemoveVoter(key=key):
                names = known = known - {key}
            case _:
                pass
    return names


def check_belief(node: ReplicaKey, voters: Iterable[ReplicaKey], voting: Keys) -> None:
    """A node's voters are those that the last such record of its log names."""
    if frozenset(voters) != voting:
        what = (
            f"n{node.id} has the voters {_nodes(voters)}, and by its log they are {_nodes(voting)}"
        )
        raise Broken("V4-voters-of-the-log", what)


def check_stands(
    node: ReplicaKey, state: str, log: KnownBatch, batches: KnownBatches, committed: Offset
) -> None:
    """A node that asks for votes is a voter by its own log, with its disk; before a log names any
    disk, by its id. Or it was one before a record that is not `committed`, as far as it knows:
    without it no node might be elected (Raft thesis 4.2.2). A leader may remove itself."""
    if state not in ("prospective", "candidate"):
        return
    voting, last = batches.voting(log), log.naming
    names = {key.id for key in voting} if are_by_id(voting) else voting
    before = batches.voting(last.prefix) if last is not None and last.prefix is not None else ()
    is_being_removed = last is not None and committed < last.end and node in before
    if node not in names and node.id not in names and not is_being_removed:
        what = f"n{node.id} ({node.directory}) is {state}, and by its log {_nodes(voting)} are "
        raise Broken("Q19-voters-stand-for-election", f"{what}the voters")


def check_change(
    before: KnownBatch,
    written: KnownBatch,
    committed: Offset,
    batches: KnownBatches,
    durable_of: Callable[[ReplicaKey], KnownBatch],
) -> None:
    """A leader writes the voters, and not as the first batch of its epoch: it has committed in this
    epoch, and the change before is committed; an added voter has, durably, all that was written.
    Only the first leader of listed nodes (KIP-856) names them as soon as it knows them."""
    epoch, start = written.epoch, batches.start_of(written.epoch)
    if written.names is None or start is None or written.base == start:
        return
    if are_by_id(batches.voting(before)):
        return
    last = before.naming
    if committed <= start:
        what = f"{written} changes the voters, and nothing of its epoch is committed"
        raise Broken("V3-epoch-committed-before-change", what)
    if last is not None and last.epoch == epoch and committed < last.end:
        what = f"{written} changes the voters, and {last}, which did, is not committed"
        raise Broken("V2-one-change-uncommitted", what)
    for key in sorted(written.names - batches.voting(before)):
        if not holds(durable_of(key), before):
            what = f"{written} adds n{key.id}, which lacks {before}"
            raise Broken("V10-added-when-caught-up", what)


def check_first_write(
    before: KnownBatch,
    written: KnownBatch,
    batches: KnownBatches,
    durable_of: Callable[[ReplicaKey], KnownBatch],
) -> None:
    """The first batch that a leader of listed nodes (KIP-856) writes besides its LeaderChange and
    the records of its voters: all voters have those, durably."""
    is_more = written.has_metadata or (written.names is not None and before.naming is not None)
    if before.has_metadata or not is_more or not are_by_id(batches.first):
        return
    naming = before.naming
    lacking = [
        key
        for key in sorted(batches.voting(before))
        if naming is None or not holds(durable_of(key), naming)
    ]
    if lacking:
        what = f"{written} is written, and {_nodes(lacking)} lack what names the voters"
        raise Broken("P5-first-voters-on-all-before-more", what)


def check_removed(node: ReplicaKey, role: Leader, log: KnownBatch) -> None:
    """A leader that is no longer a voter leads until that is committed, and no longer: also where
    it wrote another change behind it."""
    known = role.high_watermark
    if known is None:
        return
    for naming in _in_force(log, role.epoch):
        if naming.names is not None and node not in naming.names and known >= naming.end:
            what = (
                f"n{node.id} still leads after its removal from the voters was committed: {naming}"
            )
            raise Broken("V9-removed-leader-resigns", what)


def check_acknowledged(
    node: ReplicaKey,
    role: Leader,
    acknowledged: int,
    log: KnownBatch,
    committed: Offset,
    batches: KnownBatches,
) -> None:
    """A leader acknowledges no more changes than it made in its epoch and committed. (No client in
    the simulator asks for an answer before that.)"""
    done = sum(
        naming.epoch == role.epoch and naming.end <= committed and _is_change(naming, batches)
        for naming in _in_force(log, role.epoch)
    )
    if acknowledged > done:
        what = (
            f"n{node.id} acknowledged in epoch {role.epoch} {acknowledged} changes of the voters "
        )
        raise Broken("V5-acknowledged-changes-stay", f"{what}and {done} are committed")


def _is_change(naming: KnownBatch, batches: KnownBatches) -> bool:
    """Changes of the voters; not of their listeners, nor the first record that names listed
    ones."""
    before = batches.first if naming.prefix is None else batches.voting(naming.prefix)
    return not are_by_id(before) and naming.names != before


def _in_force(log: KnownBatch, epoch: Epoch) -> Iterator[KnownBatch]:
    """Batches that named the voters since that epoch began, and the last before it; newest
    first."""
    naming = log.naming
    while naming is not None:
        yield naming
        before = naming.prefix
        naming = None if naming.epoch < epoch or before is None else before.naming


def _nodes(keys: Iterable[ReplicaKey]) -> str:
    return ", ".join(f"n{key.id} ({key.directory})" for key in sorted(keys))
