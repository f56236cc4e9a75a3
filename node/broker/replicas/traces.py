"""What a broker traces of its replicas (`node.server.output`): leader, ISR and high watermark.

A line has the facts and not the decision: the log ends of followers as the leader knows them, and
not which it counted. So the judge can decide again whether the high watermark might move.
"""

from uuid import UUID

from node.broker.replicas.isr import RemoteReplica
from node.broker.replicas.replica import Leading, Replica
from node.ids import NO_EPOCH, LogId, NodeId, Offset, uuid_text
from node.lazy_dataclass import dataclass
from node.outbox import Outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """What was last traced of a replica; ISR and high watermark as of its time as leader."""

    epoch: int = NO_EPOCH
    leads: bool = False
    isr: tuple[int, tuple[int, ...], tuple[int, ...]] | None = None  # partition epoch, both ISRs
    high_watermark: Offset | None = None


NOTHING = Traced()


def trace_replica(
    key: tuple[UUID, int], replica: Replica, before: Traced, outbox: Outbox
) -> Traced:
    """Trace what differs from `before`; returns what is traced now."""
    leading = replica.leading
    epoch, leads = replica.leader_epoch, leading is not None
    if (epoch, leads) != (before.epoch, before.leads):
        began = replica.high_watermark if leading is None else leading.first_watermark
        _trace_role(key, replica, began, outbox)
        before = Traced(epoch=epoch, leads=leads, high_watermark=began)
    if leading is None:
        return before
    isr = _isr(replica, leading)
    if isr != before.isr:
        _trace_joining(key, replica, leading, outbox)
        outbox.trace(
            "p.isr",
            topic=uuid_text(key[0]),
            index=key[1],
            epoch=epoch,
            partition_epoch=isr[0],
            isr=_ids(isr[1]),
            maximal=_ids(isr[2]),
            hwm=replica.high_watermark,
            end=replica.end,
            ends=_ends(replica, leading),
        )
    if replica.high_watermark != before.high_watermark:
        outbox.trace(
            "p.hwm",
            topic=uuid_text(key[0]),
            index=key[1],
            epoch=epoch,
            hwm=replica.high_watermark,
            end=replica.end,
            ends=_ends(replica, leading),
        )
    return Traced(epoch=epoch, leads=True, isr=isr, high_watermark=replica.high_watermark)


def trace_damage(log: LogId, reason: str, outbox: Outbox) -> None:
    outbox.trace("n.rotten", log=log, reason=reason)


def trace_truncation(key: tuple[UUID, int], replica: Replica, end: Offset, outbox: Outbox) -> None:
    """Called when its log is about to be truncated."""
    outbox.trace(
        "p.truncate",
        topic=uuid_text(key[0]),
        index=key[1],
        end=end,
        hwm=replica.high_watermark,
        epoch=replica.leader_epoch,
        cut_epoch=replica.epoch_at(end),
    )


def _trace_role(key: tuple[UUID, int], replica: Replica, began: Offset, outbox: Outbox) -> None:
    outbox.trace(
        "p.role",
        topic=uuid_text(key[0]),
        index=key[1],
        role="follower" if replica.leading is None else "leader",
        epoch=replica.leader_epoch,
        end=replica.end,
        hwm=began,
    )


def _trace_joining(
    key: tuple[UUID, int], replica: Replica, leading: Leading, outbox: Outbox
) -> None:
    """The replicas that it proposes, with what they have proved."""
    pending, committed = leading.isr.pending, leading.isr.committed
    if pending is None:
        return
    for member in pending.isr:
        if member.broker not in committed:
            outbox.trace(
                "p.join",
                topic=uuid_text(key[0]),
                index=key[1],
                epoch=pending.leader_epoch,
                partition_epoch=pending.partition_epoch,
                replica=member.broker,
                broker_epoch=member.epoch,
                offset=_end(leading.followers[NodeId(member.broker)]),
                hwm=replica.high_watermark,
            )


def _isr(replica: Replica, leading: Leading) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    assert replica.state is not None, "a replica that leads has a state"
    isr = leading.isr
    return replica.state.partition_epoch, isr.committed, tuple(sorted(isr.maximal))


def _ids(brokers: tuple[int, ...]) -> list[dict[str, int | str]]:
    return [{"id": broker} for broker in brokers]


def _ends(replica: Replica, leading: Leading) -> list[dict[str, int | str]]:
    return [
        {"id": broker, "end": _end(follower), "active": int(replica.is_active(broker))}
        for broker, follower in leading.followers.items()
    ]


def _end(follower: RemoteReplica) -> int:
    """The log end; -1: not known yet."""
    return -1 if follower.end is None else follower.end
