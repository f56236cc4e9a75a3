"""What may happen next: each move is one event, with what comes of it at once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from chaos.labs.model_check.partition.controller import ALL, KEY, Deciding
from chaos.labs.model_check.partition.world import LAG, PartitionWorld, ReplicaMachine
from node.broker.replicas.isr import Proposal
from node.broker.replicas.replica import Replica
from node.controller.partitions.unclean_elections import Answer
from node.errors import ErrorCode
from node.ids import Epoch, NodeId, Offset
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionResult,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBounds:
    """What may happen at most, with one partition of three replicas."""

    records: int = 1  # appended, behind the first one
    alters: int = 1  # of min.insync.replicas
    fences: int = 1  # of brokers that run, or not
    ends: int = 1  # of processes
    depth: int = 5  # moves from the beginning


class EndKind(StrEnum):
    """How a process ends: in good order, killed, or with its disk's unsynced bytes."""

    CLEAN = "is stopped in good order"
    KILLED = "is killed"
    LOSSY = "loses its power, and all of its log"


@dataclass(frozen=True, slots=True)
class MadePartitionMove:
    """A move, and the world after it. `began_to_lead`: brokers that lead since."""

    what: str
    world: PartitionWorld
    began_to_lead: tuple[NodeId, ...]


def moves(
    world: PartitionWorld, bounds: PartitionBounds, deciding: Deciding
) -> Iterator[MadePartitionMove]:
    """Every world that is one move away."""
    for what, after in _moves(world, bounds, deciding):
        led = tuple(
            node
            for node, machine, replica in after.running()
            if machine.leading is not None and replica.leader_epoch != _led_in(world.machines[node])
        )
        yield MadePartitionMove(what, after, led)


def _led_in(machine: ReplicaMachine) -> int:
    """The epoch in which it leads; -1: in none."""
    replica = machine.replica
    return -1 if replica is None or replica.leading is None else replica.leader_epoch


def _moves(
    world: PartitionWorld, bounds: PartitionBounds, deciding: Deciding
) -> Iterator[tuple[str, PartitionWorld]]:
    for node, machine, replica in world.running():
        if replica.leading is not None:
            yield from _of_leader(world, bounds, deciding, node, machine)
    yield from _of_operator(world, bounds, deciding)
    for node in ALL:
        yield from _of_life(world, bounds, deciding, node)
    if deciding.may_recover(world.decided):
        yield from _of_recovery(world, deciding)


# --- a leader and its followers ---


def _of_leader(
    world: PartitionWorld,
    bounds: PartitionBounds,
    deciding: Deciding,
    leader: NodeId,
    machine: ReplicaMachine,
) -> Iterator[tuple[str, PartitionWorld]]:
    if world.past.records < bounds.records:
        yield f"n{leader} appends a record", _appended(world.fork(), leader)
    for node, _, replica in world.running():
        if node != leader and replica.leader == leader and _follows(replica, machine):
            yield f"n{node} fetches from n{leader}", _fetched(world.fork(), node, leader)
    if machine.replica is not None and machine.replica.is_ahead:
        yield f"n{leader} leaves out replicas that lag", _lagged(world.fork(), leader)
    if machine.asked is not None:
        after = _answered(world.fork(), deciding, leader)
        yield f"the controller gets the ISR that n{leader} proposes", after
    if machine.answer is not None:
        yield f"n{leader} gets the answer", _told(world.fork(), leader, is_lost=False)
        yield f"n{leader} waits for the answer in vain", _told(world.fork(), leader, is_lost=True)
    if machine.heard < len(world.log):
        after = world.fork()
        after.hear(leader)
        yield f"n{leader} replays what is committed", after


def _follows(replica: Replica, leader: ReplicaMachine) -> bool:
    assert leader.replica is not None
    return replica.leading is None and replica.leader_epoch == leader.replica.leader_epoch


def _running(machine: ReplicaMachine) -> Replica:
    assert machine.replica is not None, "it is off"
    return machine.replica


def _appended(world: PartitionWorld, leader: NodeId) -> PartitionWorld:
    machine = world.own(leader)
    replica = _running(machine)
    end, epoch = replica.end, Epoch(replica.leader_epoch)
    replica.appended(epoch, end, Offset(end + 1), world.now)
    machine.log += (epoch,)
    world.past = replace(world.past, records=world.past.records + 1)
    return world


def _fetched(world: PartitionWorld, node: NodeId, leader: NodeId) -> PartitionWorld:
    """One Fetch: it says where the follower ends, and brings all that is missing, or where the
    logs diverge."""
    world.now += 1
    mine, theirs = world.own(node), world.own(leader)
    follower, leads = _running(mine), _running(theirs)
    diverging = leads.divergence(follower.last_epoch, follower.end)
    if diverging is not None:
        end = follower.truncation(diverging)
        follower.truncated(end)
        mine.log = mine.log[:end]
        return world
    epoch = world.decided.broker(node).epoch
    proposal = leads.fetched_by(node, follower.end, epoch, world.now)
    theirs.asked = proposal or theirs.asked
    for offset in range(follower.end, leads.end):
        at = Offset(offset)
        follower.appended(Epoch(theirs.log[offset]), at, Offset(offset + 1), world.now)
    mine.log = theirs.log[: leads.end]
    follower.told_high_watermark(leads.high_watermark)
    return world


def _lagged(world: PartitionWorld, leader: NodeId) -> PartitionWorld:
    world.now += LAG + 1
    machine = world.own(leader)
    replica = _running(machine)
    replica.look_again(world.now)
    machine.asked = replica.shrinking(world.now) or machine.asked
    return world


def _answered(world: PartitionWorld, deciding: Deciding, leader: NodeId) -> PartitionWorld:
    machine, decided = world.own(leader), world.decided
    proposal = machine.asked
    assert proposal is not None
    request = AlterPartitionRequest(
        broker=leader,
        epoch=decided.broker(leader).epoch,
        partitions=(
            AlteredPartition(
                topic=KEY[0],
                index=KEY[1],
                leader_epoch=proposal.leader_epoch,
                partition_epoch=proposal.partition_epoch,
                isr=proposal.isr,
            ),
        ),
    )
    after, response = deciding.alter(decided, request)
    machine.asked, machine.answer = None, (proposal, _result_of(response))
    world.push(after)
    return world


def _result_of(response: AlterPartitionResponse) -> PartitionResult:
    if response.error is not ErrorCode.NONE:
        return PartitionResult(topic=KEY[0], index=KEY[1], error=response.error)
    return response.results[0]


def _told(world: PartitionWorld, leader: NodeId, *, is_lost: bool) -> PartitionWorld:
    machine = world.own(leader)
    assert machine.answer is not None
    proposal, result = machine.answer
    if is_lost:
        result = PartitionResult(topic=KEY[0], index=KEY[1], error=ErrorCode.REQUEST_TIMED_OUT)
    machine.answer = None
    if _running(machine).on_response(proposal, result, world.now):
        machine.asked = _again(machine, proposal)
    return world


def _again(machine: ReplicaMachine, proposal: Proposal) -> Proposal:
    """The same, as the leader has it."""
    leading = machine.leading
    assert leading is not None
    return leading.isr.pending or proposal


# --- the operator, and lives of brokers ---


def _of_operator(
    world: PartitionWorld, bounds: PartitionBounds, deciding: Deciding
) -> Iterator[tuple[str, PartitionWorld]]:
    if world.past.alters == bounds.alters:
        return
    for min_isr in {1, 2, 3} - {world.decided.min_isr}:
        after = world.fork()
        after.past = replace(after.past, alters=after.past.alters + 1)
        after.push(deciding.configure(world.decided, min_isr))
        yield f"min.insync.replicas becomes {min_isr}", after


def _of_life(
    world: PartitionWorld, bounds: PartitionBounds, deciding: Deciding, node: NodeId
) -> Iterator[tuple[str, PartitionWorld]]:
    runs, known = world.machines[node].replica is not None, world.decided.broker(node)
    past = world.past
    if not known.fenced and (past.fences < bounds.fences or not runs):
        after = world.fork()
        after.past = replace(past, fences=past.fences + runs)  # one that is off is silent anyway
        after.push(deciding.fence(world.decided, node))
        yield f"n{node} is fenced", after
    if known.fenced and runs:
        after = world.fork()
        after.push(deciding.unfence(world.decided, node))
        yield f"n{node} is unfenced", after
    if runs and past.ends < bounds.ends:
        for kind in EndKind:
            yield f"n{node} {kind}", _ended(world.fork(), node, kind)
    if not runs:
        yield f"n{node} starts and registers", _started(world.fork(), deciding, node)


def _ended(world: PartitionWorld, node: NodeId, kind: EndKind) -> PartitionWorld:
    machine, past, it = world.own(node), world.past, frozenset({node})
    machine.replica = machine.asked = machine.answer = None
    past = replace(past, ends=past.ends + 1)
    if kind is EndKind.CLEAN:
        machine.vouched = world.decided.broker(node).epoch
    else:
        past = replace(past, unclean=past.unclean | it)
    if kind is EndKind.LOSSY:
        machine.log = ()
        past = replace(past, lossy=past.lossy | it, unregistered=past.unregistered | it)
    world.past = past
    return world


def _started(world: PartitionWorld, deciding: Deciding, node: NodeId) -> PartitionWorld:
    past, vouched = world.past, world.machines[node].vouched
    world.past = replace(past, unregistered=past.unregistered - {node})
    world.push(deciding.register(world.decided, node, vouched))
    world.start(node)
    return world


# --- unclean recovery ---


def _of_recovery(world: PartitionWorld, deciding: Deciding) -> Iterator[tuple[str, PartitionWorld]]:
    """Brokers that know of the leader epoch answer; the controller elects as soon as it may, and
    may do so late."""
    epoch = world.decided.partition.leader_epoch
    for node, machine, replica in world.running():
        if machine.leading is None and replica.leader_epoch == epoch:
            answer = Answer(
                broker_epoch=world.decided.broker(node).epoch,
                last_epoch=replica.last_epoch,
                end=replica.end,
            )
            if world.recovery.get(node) != answer:
                after = world.fork()
                after.recovery[node] = answer
                yield f"n{node} says where its log ends", after
    for is_late in (False, True):
        elected = deciding.recovered(world.decided, world.asked_where_logs_end(), is_late=is_late)
        if elected is not None:
            after = world.fork()
            after.push(elected)
            late = ", after the time-out" if is_late else ""
            yield f"the controller elects n{elected.partition.leader} by its log{late}", after
            return
