"""The moments, in the order in which a cluster lives through them."""

from collections.abc import Mapping
from dataclasses import replace

from chaos.audit import kafka_moments, node_moments, voter_moments
from chaos.audit.moment import Moment, Reach, Way
from chaos.cluster.targets.named import BROKERS
from chaos.cluster.targets.node import DYNAMIC, QUORUM
from chaos.conditions import Conditions

# Of our own node's metadata log, in bytes.
_LEAST_SEGMENTS = Conditions(segment_bytes=1024)
_QUICK_SNAPSHOTS = Conditions(snapshot_bytes=500)
_TWO_DIRECTORIES = {"log_dirs": "2"}
_FORMATTED = {"synced_format": "waits"}
_COMBINED = {"roles": "combined"}  # broker and controller in one


def _kafka(reach: Reach, settings: Mapping[str, str] = {}) -> Way:
    return Way(reach=reach, settings={**_COMBINED, **settings})


def _with_brokers(reach: Reach, nodes: int = 1) -> Way:
    """Of our own node: so many brokers, and a controller beside them."""
    return Way(reach=reach, nodes=nodes, settings={BROKERS: str(nodes)})


def _voters(reach: Reach) -> Mapping[str, Way]:
    """Three controllers, of which brokers of Apache Kafka take no notice."""
    return {
        "node": Way(reach=reach, nodes=3, settings={QUORUM: DYNAMIC}),
        "kafka": Way(reach=reach, settings={"controllers": "3"}, controllers_only=True),
    }


_ALL = (
    Moment(
        name="formatted",
        summary="the format has ended, what it wrote was not synced, and no node has run",
        ways={
            "node": Way(reach=node_moments.formatted, settings=_FORMATTED),
            "kafka": _kafka(kafka_moments.formatted, _FORMATTED),
        },
    ),
    Moment(
        name="first-start",
        summary="a node answers for the first time; what the format wrote was not synced",
        ways={
            "node": Way(reach=node_moments.first_start, settings={"synced_format": "off"}),
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
            "node": _with_brokers(node_moments.record_acknowledged),
            "kafka": _kafka(kafka_moments.record_acknowledged),
        },
    ),
    Moment(
        name="syncs-waiting",
        summary="changes of metadata are acknowledged while syncs are slow, and those that wait at "
        "the cut are held back",
        ways={
            "node": Way(reach=node_moments.syncs_waiting),
            "kafka": replace(_kafka(kafka_moments.syncs_waiting), in_time=False),
        },
    ),
    Moment(
        name="segment-rolled",
        summary="a log has gone on in new segments, and those before were flushed (Kafka: with a "
        "transaction open)",
        ways={
            "node": replace(_with_brokers(node_moments.segment_rolled), conditions=_LEAST_SEGMENTS),
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
            "node": Way(reach=node_moments.leader_elected, nodes=3),
            "kafka": _kafka(kafka_moments.leader_elected),
        },
    ),
    Moment(
        name="snapshot-taken",
        summary="there is a snapshot of the metadata log",
        ways={
            "node": Way(reach=node_moments.snapshot_taken, conditions=_QUICK_SNAPSHOTS),
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
            # A client that commits has to find three brokers (offsets.topic.replication.factor).
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
            "node": replace(_with_brokers(node_moments.clean_stop), stopped=True),
            "kafka": replace(
                _kafka(kafka_moments.clean_stop, kafka_moments.RETENTION), stopped=True
            ),
        },
    ),
    Moment(
        name="controller-stopped",
        summary="the controller was stopped in good order, its brokers run on",
        ways={
            "node": replace(
                _with_brokers(node_moments.controller_stopped), controllers_only=True, stopped=True
            ),
            "kafka": Way(
                reach=kafka_moments.controller_stopped, controllers_only=True, stopped=True
            ),
        },
    ),
    Moment(
        name="voter-changed",
        summary="one of three controllers was removed from the voters",
        ways=_voters(voter_moments.voter_changed),
    ),
    Moment(
        name="voter-added",
        summary="it was added to them again",
        ways=_voters(voter_moments.voter_added),
    ),
)

MOMENTS = {moment.name: moment for moment in _ALL}


def moments_of(target: str) -> list[Moment]:
    return [moment for moment in _ALL if target in moment.ways]
