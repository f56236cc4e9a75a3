"""What must hold after each move, judged by logs and by what was shown to clients."""

from collections.abc import Iterator
from dataclasses import replace

from chaos.labs.model_check.judged_steps import BrokenPromise
from chaos.labs.model_check.partition.moves import MadePartitionMove
from chaos.labs.model_check.partition.world import EpochLog, PartitionWorld, ReplicaMachine
from node.ids import NodeId

ELIGIBLE, HELD, LED, AGREED = "E12", "P8", "P10", "P11"
PROMISES = {
    ELIGIBLE: "members of ISR and ELR have all that is below the high watermark",
    HELD: "what is below the high watermark is on min ISR replicas, or was lost by a power cut",
    LED: "a leader has all that was below a high watermark, unless min ISR ends were unclean",
    AGREED: "leaders show the same records",
}


def judge(before: PartitionWorld, made: MadePartitionMove) -> Iterator[BrokenPromise]:
    """Also counts in the world's past what the leaders show, and what may be lost."""
    world = made.world
    for node in made.began_to_lead:
        yield from _led(world, node)
    for node, machine, replica in world.running():
        if machine.leading is not None:
            shown = machine.log[: replica.high_watermark]
            if len(shown) > _high_watermark(before.machines[node]):
                yield from _held(world, machine, shown)
            yield from _agreed(world, node, shown)
    yield from _eligible(world)


def _high_watermark(machine: ReplicaMachine) -> int:
    return 0 if machine.replica is None else machine.replica.high_watermark


def _has(log: EpochLog, shown: EpochLog) -> bool:
    return log[: len(shown)] == shown


def _led(world: PartitionWorld, node: NodeId) -> Iterator[BrokenPromise]:
    log, past = world.machines[node].log, world.past
    if _has(log, past.shown):
        return
    if len(past.unclean) < past.least or not past.lossy:
        what = f"n{node} leads with {_told(log)}, and {_told(past.shown)} was shown; "
        what += f"min ISR was {past.least} at least, and {len(past.unclean)} ended uncleanly"
        yield BrokenPromise(promise=LED, what=what)
    world.past = replace(past, shown=_common(log, past.shown))


def _held(
    world: PartitionWorld, leader: ReplicaMachine, shown: EpochLog
) -> Iterator[BrokenPromise]:
    """By the lowest min ISR that is in force for the leader, or for the controller."""
    least = min(each.effective_min_isr for each in world.log[leader.heard - 1 :])
    holders = [node for node, each in world.machines.items() if _has(each.log, shown)]
    if len({*holders, *world.past.lossy}) < least:
        what = f"{_told(shown)} is shown, and is on {_names(holders)}; min ISR is {least}"
        yield BrokenPromise(promise=HELD, what=what)


def _agreed(world: PartitionWorld, node: NodeId, shown: EpochLog) -> Iterator[BrokenPromise]:
    past = world.past
    if not (_has(shown, past.shown) or _has(past.shown, shown)):
        what = f"n{node} shows {_told(shown)}, and {_told(past.shown)} was shown"
        yield BrokenPromise(promise=AGREED, what=what)
    elif len(shown) > len(past.shown):
        world.past = replace(past, shown=shown)


def _eligible(world: PartitionWorld) -> Iterator[BrokenPromise]:
    """One that lost its log is known to have done so as soon as it registers."""
    partition, shown = world.decided.partition, world.past.shown
    for broker in (*partition.isr, *partition.elr):
        node = NodeId(broker)
        log = world.machines[node].log
        if node not in world.past.unregistered and not _has(log, shown):
            of = "ISR" if broker in partition.isr else "ELR"
            what = f"n{node} is in the {of} with {_told(log)}, and {_told(shown)} was shown"
            yield BrokenPromise(promise=ELIGIBLE, what=what)


def _common(one: EpochLog, other: EpochLog) -> EpochLog:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return one[:same]


def _told(log: EpochLog) -> str:
    """The records as their leader epochs."""
    return f"[{', '.join(f'epoch {epoch}' for epoch in log)}]"


def _names(nodes: list[NodeId]) -> str:
    return ", ".join(f"n{node}" for node in nodes) or "no broker"
