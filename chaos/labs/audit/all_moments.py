"""All moments of the audit in their order in the life of a cluster, and how they are reached."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from chaos.cluster.interface import DiskTrouble, NodeId
from chaos.cluster.powers import Killable
from chaos.cluster.targets.named import BROKERS
from chaos.cluster.targets.node import DYNAMIC, QUORUM
from chaos.conditions import Conditions
from chaos.labs.audit import kafka_moments
from chaos.labs.audit.moment import (
    REGISTERS,
    Moment,
    Reach,
    Stage,
    Way,
    set_registers,
    set_while_syncs_wait,
    told_of,
    until,
)
from checkers.disk.segments import read_meta_properties, read_quorum_state

# Moments at which the voters of a quorum change, on either target.


async def voter_changed(stage: Stage) -> None:
    """A controller no longer votes."""
    await set_registers(stage, first=1)
    voters = await stage.client.quorum.voters().ask()
    node, _ = await _remove_voter(stage)
    left = ", ".join(voter for voter in voters.split(", ") if voter != str(node))
    stage.acknowledged(stage.client.quorum.voters(), left, promised=True)


async def voter_added(stage: Stage) -> None:
    """It votes again, with its former disk."""
    await set_registers(stage, first=1)
    voters = await stage.client.quorum.voters().ask()
    node, directory_id = await _remove_voter(stage)
    await stage.client.quorum.add_voter(node, directory_id)
    stage.acknowledged(stage.client.quorum.voters(), voters, promised=True)


async def _remove_voter(stage: Stage) -> tuple[NodeId, str]:
    """A follower, and the id of its directory."""
    leader = await stage.client.quorum.leader()
    node, directory_id = follower_that_voted(await stage.files(), NodeId(leader.node))
    await stage.client.quorum.remove_voter(node, directory_id)
    return node, directory_id


def follower_that_voted(files: Sequence[Path], leader: NodeId) -> tuple[NodeId, str]:
    """The last follower that voted for the leader, and the id of its directory, by the files of all
    disks; none that stood for election and lost. Chance decides whether there is one; its removal
    is the story removed-candidate."""
    found = {}
    for path in files:
        if path.name == "quorum-state":
            own = read_meta_properties(path.parents[1] / "meta.properties")
            if own.node_id not in (leader, read_quorum_state(path).voted):
                found[NodeId(own.node_id)] = own.directory_id
    return max(found.items())


# Moments of our own node.


async def formatted(stage: Stage) -> None:
    """No node has run; the only promise is that all start and answer."""


async def first_start(stage: Stage) -> None:
    """It answers, and its format was never synced from outside."""
    leader = await stage.client.quorum.leader()
    stage.acknowledged(stage.client.quorum.epoch_is_kept(leader.epoch), "yes", promised=True)


async def record_acknowledged(stage: Stage) -> None:
    """Of the metadata, and of partitions."""
    await set_registers(stage, first=1)
    await kafka_moments.record_acknowledged(stage)


async def syncs_waiting(stage: Stage) -> None:
    await set_while_syncs_wait(stage, DiskTrouble.SLOW, REGISTERS)


async def segment_rolled(stage: Stage) -> None:
    """For the metadata log, with few registers in each of its minimal segments, and for a topic."""
    for first in range(1, 5 * REGISTERS, REGISTERS):
        await set_registers(stage, first)
    await kafka_moments.topic_of_small_segments(stage)
    records = told_of(await kafka_moments.fill_segments(stage))
    stage.acknowledged(
        stage.client.records(kafka_moments.TOPIC, 0), records, promised=stage.flushed
    )


async def leader_elected(stage: Stage) -> None:
    """The leader is killed, another one elected, and a record acknowledged in its epoch; then the
    killed one starts again."""
    await set_registers(stage, first=1)
    before = await stage.client.quorum.leader()
    assert isinstance(stage.cluster, Killable)
    await stage.cluster.kill(NodeId(before.node))
    await set_registers(stage, first=1 + REGISTERS)
    now = await stage.client.quorum.leader()
    stage.acknowledged(stage.client.quorum.epoch_is_kept(now.epoch), "yes", promised=True)
    await stage.cluster.start(NodeId(before.node))


async def snapshot_taken(stage: Stage) -> None:
    """Of the metadata log; registers are set until a snapshot exists."""
    first = 1

    async def there() -> bool:
        nonlocal first
        await set_registers(stage, first)
        first += REGISTERS
        return await kafka_moments.has_snapshot(stage)

    await until(there, "a snapshot of the metadata log")


async def clean_stop(stage: Stage) -> None:
    """All is flushed before a broker ends, so all is promised."""
    await set_registers(stage, first=1)
    await kafka_moments.sent_before_a_stop(stage)


async def controller_stopped(stage: Stage) -> None:
    """Its broker goes on."""
    await set_registers(stage, first=1)
    await kafka_moments.controller_stopped(stage)


# For our own node's metadata log, in bytes.
_LEAST_SEGMENTS = Conditions(segment_bytes=1024)
_QUICK_SNAPSHOTS = Conditions(snapshot_bytes=500)
_TWO_DIRECTORIES = {"log_dirs": "2"}
_FORMATTED = {"synced_format": "waits"}
_COMBINED = {"roles": "combined"}  # broker and controller in one


def _kafka(reach: Reach, settings: Mapping[str, str] = {}) -> Way:
    return Way(reach=reach, settings={**_COMBINED, **settings})


def _with_brokers(reach: Reach, nodes: int = 1) -> Way:
    """Our own node: this many brokers, and a controller beside them."""
    return Way(reach=reach, nodes=nodes, settings={BROKERS: str(nodes)})


def _voters(reach: Reach) -> Mapping[str, Way]:
    """Three controllers; brokers of Apache Kafka are not affected by them."""
    return {
        "node": Way(reach=reach, nodes=3, settings={QUORUM: DYNAMIC}),
        "kafka": Way(reach=reach, settings={"controllers": "3"}, controllers_only=True),
    }


_ALL = (
    Moment(
        name="formatted",
        summary="the format has ended, what it wrote was not synced, and no node has run",
        ways={
            "node": Way(reach=formatted, settings=_FORMATTED),
            "kafka": _kafka(kafka_moments.formatted, _FORMATTED),
        },
    ),
    Moment(
        name="first-start",
        summary="a node answers for the first time; what the format wrote was not synced",
        ways={
            "node": Way(reach=first_start, settings={"synced_format": "off"}),
            "kafka": _kafka(kafka_moments.first_start, {"synced_format": "off"}),
        },
    ),
    Moment(
        name="topic-created",
        summary="a topic was created with a configuration",
        ways={
            "node": _with_brokers(kafka_moments.topic_created),
            "kafka": _kafka(kafka_moments.topic_created),
        },
    ),
    Moment(
        name="record-acknowledged",
        summary="records were acknowledged, the last one just now",
        ways={
            "node": _with_brokers(record_acknowledged),
            "kafka": _kafka(kafka_moments.record_acknowledged),
        },
    ),
    Moment(
        name="syncs-waiting",
        summary="changes of metadata are acknowledged while syncs are slow, and those that wait at "
        "the cut are held back",
        ways={
            "node": Way(reach=syncs_waiting),
            "kafka": replace(_kafka(kafka_moments.syncs_waiting), in_time=False),
        },
    ),
    Moment(
        name="segment-rolled",
        summary="a log has gone on in new segments, and those before were flushed (Kafka: with a "
        "transaction open)",
        ways={
            "node": replace(_with_brokers(segment_rolled), conditions=_LEAST_SEGMENTS),
            "kafka": _kafka(
                kafka_moments.segment_rolled,
                {**kafka_moments.QUICK_CHECKPOINTS, **kafka_moments.QUICK_TRANSACTIONS},
            ),
        },
    ),
    Moment(
        name="leader-elected",
        summary="the leader was killed, another elected, and a record acknowledged since",
        ways={
            "node": Way(reach=leader_elected, nodes=3),
            "kafka": _kafka(kafka_moments.leader_elected),
        },
    ),
    Moment(
        name="snapshot-taken",
        summary="there is a snapshot of the metadata log",
        ways={
            "node": Way(reach=snapshot_taken, conditions=_QUICK_SNAPSHOTS),
            "kafka": _kafka(kafka_moments.snapshot_taken, kafka_moments.QUICK_SNAPSHOTS),
        },
    ),
    Moment(
        name="high-watermark-checkpointed",
        summary="records were acknowledged, and their high watermark is written down",
        ways={
            "node": _with_brokers(kafka_moments.high_watermark_checkpointed),
            "kafka": _kafka(
                kafka_moments.high_watermark_checkpointed, kafka_moments.QUICK_CHECKPOINTS
            ),
        },
    ),
    Moment(
        name="offsets-committed",
        summary="a group has committed an offset",
        ways={
            # A client that commits needs three brokers (offsets.topic.replication.factor).
            "node": _with_brokers(kafka_moments.offsets_committed, nodes=3),
            "kafka": _kafka(kafka_moments.offsets_committed),
        },
    ),
    Moment(
        name="replica-moved",
        summary="records long synced were moved to another log directory, which is reported done",
        ways={"kafka": _kafka(kafka_moments.replica_moved, _TWO_DIRECTORIES)},
    ),
    Moment(
        name="log-directory-assigned",
        summary="the controller knows in which log directory the replicas of a new topic are",
        ways={"kafka": _kafka(kafka_moments.log_directory_assigned, _TWO_DIRECTORIES)},
    ),
    Moment(
        name="transaction-committed",
        summary="a transaction was committed",
        ways={
            "kafka": _kafka(kafka_moments.transaction_committed, kafka_moments.QUICK_TRANSACTIONS)
        },
    ),
    Moment(
        name="commit-remembered",
        summary="a transaction was committed; all is synced but for what its commit brought to the "
        "partition",
        ways={"kafka": _kafka(kafka_moments.commit_remembered, kafka_moments.SYNCED_COORDINATORS)},
    ),
    Moment(
        name="clean-stop",
        summary="nodes were stopped in good order, and the power fails before the kernel has "
        "written all out",
        ways={
            "node": replace(_with_brokers(clean_stop), stopped=True),
            "kafka": replace(
                _kafka(kafka_moments.clean_stop, kafka_moments.RETENTION), stopped=True
            ),
        },
    ),
    Moment(
        name="controller-stopped",
        summary="the controller was stopped in good order, its brokers run on",
        ways={
            "node": replace(_with_brokers(controller_stopped), controllers_only=True, stopped=True),
            "kafka": Way(
                reach=kafka_moments.controller_stopped, controllers_only=True, stopped=True
            ),
        },
    ),
    Moment(
        name="voter-changed",
        summary="one of three controllers was removed from the voters",
        ways=_voters(voter_changed),
    ),
    Moment(
        name="voter-added",
        summary="it was added to them again",
        ways=_voters(voter_added),
    ),
)

MOMENTS = {moment.name: moment for moment in _ALL}


def moments_of(target: str) -> list[Moment]:
    return [moment for moment in _ALL if target in moment.ways]
