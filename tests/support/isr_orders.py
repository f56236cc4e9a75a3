"""Every order in which the leader of a partition, its followers, the controller and an operator may
act, up to a depth (KIP-966): does everybody who may yet lead have what the leader has shown?

The leader is the node's own `Replica`; what the controller makes of a proposal, of a broker that is
fenced and of another min.insync.replicas is decided by the node's own functions. Between the two
lie a metadata log, which the leader replays when it likes, and an answer, which may overtake it, be
late, or be lost. So each has its own idea of ISR and min ISR.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from uuid import UUID

from node.broker.replicas.isr import Proposal
from node.broker.replicas.replica import Replica
from node.controller.image import Image, Partition
from node.controller.partitions.changes import Rules, change, without
from node.controller.resource_configs import drop_elr
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch, NodeId, Offset
from node.records.metadata import (
    ELR_VERSION,
    METADATA_VERSION,
    NEWEST,
    ConfigRecord,
    FeatureLevelRecord,
    TopicRecord,
)
from node.storage.checkpoints import LeaderEpochs
from node.wire.alter_partition import PartitionResult

LEADER, FOLLOWERS = NodeId(0), (NodeId(1), NodeId(2))
_KEY = (UUID(int=9), 0)
_LAG, _EPOCH = 1_000, 5
_RECORDS = 2  # that are appended at most
_BATCHES = 4  # of the metadata log at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a batch of the metadata log leaves."""

    partition: Partition
    min_isr: int
    fenced: frozenset[int] = frozenset()


@dataclass(slots=True)
class World:
    replica: Replica
    log: list[Decided]
    heard: int = 1  # batches of it that the leader replayed
    asked: Proposal | None = None  # on its way to the controller
    answer: tuple[Proposal, PartitionResult] | None = None  # and back
    now: int = 1_000_000
    path: tuple[str, ...] = ()
    ends: dict[NodeId, Offset] = field(default_factory=lambda: dict.fromkeys(FOLLOWERS, Offset(0)))

    @property
    def decided(self) -> Decided:
        return self.log[-1]

    def fork(self, step: str) -> "World":
        leading = self.replica.leading
        assert leading is not None
        replica = copy.copy(self.replica)
        followers = {broker: copy.copy(each) for broker, each in leading.followers.items()}
        replica.leading = replace(leading, followers=followers)
        forked = World(
            replica,
            [*self.log],
            self.heard,
            self.asked,
            self.answer,
            self.now,
            (*self.path, step),
            {**self.ends},
        )
        replica._may_join = forked.may_join  # as it hears of brokers from now on
        return forked

    def may_join(self, broker: int, epoch: int) -> bool:
        del epoch
        return broker not in self.log[self.heard - 1].fenced

    def key(self) -> object:
        """Worlds of one key go on alike."""
        replica, leading = self.replica, self.replica.leading
        assert leading is not None
        return (
            replica.end,
            replica.high_watermark,
            leading.isr,
            tuple(
                (each.end, each.is_caught_up(replica.end, _LAG, self.now), each._leader_end)
                for each in leading.followers.values()
            ),
            tuple(self.ends.values()),
            tuple(self.log[self.heard - 1 :]),
            self.asked,
            self.answer,
        )

    def fault(self) -> str | None:
        """KIP-966: whoever is in the ISR or the ELR has all below the high watermark."""
        now = self.decided.partition
        shown = self.replica.high_watermark
        for broker in FOLLOWERS:
            if broker in (*now.isr, *now.elr) and self.ends[broker] < shown:
                return f"{broker} ends at {self.ends[broker]}, and {shown} is shown: {now}"
        return None


def begin(min_isr: int) -> World:
    partition = Partition(
        replicas=(LEADER, *FOLLOWERS),
        isr=(LEADER, *FOLLOWERS),
        leader=LEADER,
        leader_epoch=_EPOCH,
        partition_epoch=10,
        directories=(ZERO_UUID,) * 3,
    )
    decided = Decided(partition=partition, min_isr=min_isr)
    replica = Replica(
        LEADER,
        end=Offset(0),
        epochs=LeaderEpochs(),
        high_watermark=Offset(0),
        may_join=lambda _broker, _epoch: True,
        lag_ns=_LAG,
    )
    world = World(replica, [decided])
    replica.update(partition, min_isr, world.now)
    return world.fork(f"min ISR is {min_isr}")


# --- what may happen next ---


def following(world: World) -> Iterator[World]:
    """Each world that is one step away."""
    if world.replica.end < _RECORDS:
        yield _appended(world.fork("the leader appends"))
    for broker in FOLLOWERS:
        yield _fetched(world.fork(f"{broker} has all"), broker)
    yield _lagged(world.fork("whoever lags is left out"))
    if world.asked is not None:
        yield _answered(world.fork("the controller answers"), world.asked)
    if world.answer is not None:
        yield _told(world.fork("the leader is answered"), *world.answer)
        lost = PartitionResult(topic=_KEY[0], index=0, error=ErrorCode.REQUEST_TIMED_OUT)
        yield _told(world.fork("the answer is lost"), world.answer[0], lost)
    if world.heard < len(world.log):
        yield _replayed(world.fork("the leader replays"))
    if len(world.log) < _BATCHES:
        for min_isr in {1, 2, 3} - {world.decided.min_isr}:
            yield _configured(world.fork(f"min ISR becomes {min_isr}"), min_isr)
        for broker in FOLLOWERS:
            yield _fenced(world.fork(f"{broker} is fenced, or not any more"), broker)


def _appended(world: World) -> World:
    end = world.replica.end
    world.replica.appended(Epoch(_EPOCH), end, Offset(end + 1), world.now)
    return world


def _fetched(world: World, broker: NodeId) -> World:
    world.now += 1
    world.ends[broker] = world.replica.end
    proposal = world.replica.fetched_by(broker, world.replica.end, 7, world.now)
    world.asked = proposal or world.asked
    return world


def _lagged(world: World) -> World:
    world.now += _LAG + 1
    world.replica.look_again(world.now)
    world.asked = world.replica.shrinking(world.now) or world.asked
    return world


def _answered(world: World, proposal: Proposal) -> World:
    before, error = world.decided.partition, ErrorCode.NONE
    after = before
    if proposal.partition_epoch < before.partition_epoch:
        error = ErrorCode.INVALID_UPDATE_VERSION
    elif world.decided.fenced & set(proposal.brokers):
        error = ErrorCode.INELIGIBLE_REPLICA
    else:
        after = _changed(world.decided, replace(before, isr=proposal.brokers))
        if after is not before:
            world.log.append(replace(world.decided, partition=after))
    done = error is ErrorCode.NONE
    result = PartitionResult(
        topic=_KEY[0],
        index=0,
        error=error,
        leader=LEADER,
        leader_epoch=after.leader_epoch,
        partition_epoch=after.partition_epoch if done else 0,
        isr=after.isr if done else (),
    )
    world.asked, world.answer = None, (proposal, result)
    return world


def _told(world: World, proposal: Proposal, result: PartitionResult) -> World:
    world.answer = None
    if world.replica.on_response(proposal, result, world.now):
        world.asked = proposal
    return world


def _replayed(world: World) -> World:
    now = world.log[world.heard]
    world.heard += 1
    world.replica.update(now.partition, now.min_isr, world.now)
    world.replica.look_again(world.now)
    return world


def _configured(world: World, min_isr: int) -> World:
    was = world.decided
    record = ConfigRecord(
        resource_type=2, resource_name="t", name="min.insync.replicas", value=str(min_isr)
    )
    partition = was.partition
    for dropped in drop_elr(_image(was), [record], 1):
        partition = partition.changed(dropped)
    world.log.append(replace(was, partition=partition, min_isr=min_isr))
    return world


def _fenced(world: World, broker: NodeId) -> World:
    was = world.decided
    if broker in was.fenced:
        world.log.append(replace(was, fenced=was.fenced - {broker}))
        return world
    fenced = replace(was, fenced=was.fenced | {broker})
    left = replace(was.partition, isr=without(was.partition.isr, broker))
    world.log.append(replace(fenced, partition=_changed(fenced, left)))
    return world


def _changed(was: Decided, proposed: Partition) -> Partition:
    """As the controller decides."""
    rules = Rules(
        level=NEWEST,
        elr=True,
        min_isr=min(was.min_isr, 3),
        may_lead=lambda broker: broker not in was.fenced,
    )
    record = change(_KEY, was.partition, proposed, rules)
    return was.partition if record is None else was.partition.changed(record)


@cache
def _image(decided: Decided) -> Image:
    image = Image()
    image.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=NEWEST))
    image.replay(FeatureLevelRecord(name=ELR_VERSION, feature_level=1))
    image.replay(TopicRecord(name="t", topic_id=_KEY[0]))
    image.replay(decided.partition.record(_KEY, NEWEST))
    return image


# --- the search ---


def search(depth: int) -> tuple[str | None, int]:
    """By breadth: the shortest way to break the rule, in words, if there is one; and how many
    worlds there are."""
    seen: set[object] = set()
    front = [begin(min_isr) for min_isr in (1, 2, 3)]
    for _ in range(depth):
        coming: list[World] = []
        for world in front:
            for after in following(world):
                if (fault := after.fault()) is not None:
                    return "; ".join((*after.path, fault)), len(seen)
                key = after.key()
                if key not in seen:
                    seen.add(key)
                    coming.append(after)
        front = coming
    return None, len(seen)
