"""Who votes: by the logs, and not by what a node makes of them."""

from collections.abc import Callable, Iterable

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import Keys, KnownBatch, KnownBatches, holds
from node.ids import Offset, ReplicaKey
from node.raft.roles import Leader
from node.records.batch import Batch, BatchHeader
from node.records.control import Voters, decode_control


def named_in(header: BatchHeader, data: bytes) -> Keys | None:
    """Whom a control batch names as voters; None: it says nothing of them."""
    names: Keys | None = None
    for record in Batch(header=header, data=data).records():
        control = decode_control(record.key, record.value)
        if isinstance(control, Voters):
            names = frozenset(voter.key for voter in control.voters)
    return names


def check_belief(node: ReplicaKey, voters: Iterable[ReplicaKey], voting: Keys) -> None:
    """A node takes those for voters whom the last record of its log names."""
    if frozenset(voters) != voting:
        what = f"n{node.id} takes {_nodes(voters)} for voters, and by its log {_nodes(voting)} are"
        raise Broken("V4-voters-of-the-log", what)


def check_change(
    before: KnownBatch,
    written: KnownBatch,
    committed: Offset,
    batches: KnownBatches,
    durable_of: Callable[[ReplicaKey], KnownBatch],
) -> None:
    """A leader writes who votes, and not as the first batch of its epoch: it has committed in this
    epoch, and the change before; and who is added has, durably, all that was written."""
    epoch, start = written.epoch, batches.start_of(written.epoch)
    if written.names is None or start is None or written.base == start:
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


def check_removed(node: ReplicaKey, role: Leader, log: KnownBatch) -> None:
    """A leader that votes no more leads until that is committed, and no longer."""
    naming, known = log.naming, role.high_watermark
    if naming is None or naming.names is None or known is None:
        return
    if node not in naming.names and known >= naming.end:
        what = f"n{node.id} leads on, and it is committed that it votes no more: {naming}"
        raise Broken("V9-removed-leader-resigns", what)


def _nodes(keys: Iterable[ReplicaKey]) -> str:
    return ", ".join(f"n{key.id} ({key.directory})" for key in sorted(keys))
