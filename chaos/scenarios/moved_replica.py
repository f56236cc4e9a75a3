"""Replicas with synced records move to another log directory, and the power fails."""

from dataclasses import replace

from chaos.cluster.interface import MovedReplica
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.upkeep import MoveReplicas, SyncDisks
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllBrokers
from chaos.scenario import MOVED_REPLICA as SETTING
from chaos.scenario import Scenario, Side, Takes
from chaos.scenarios.loads import (
    AS_PROMISED,
    ONE_BROKER,
    PROMISED,
    SEE_LOST_REPLICAS,
    THREE_BROKERS,
    TWO_IN_SYNC,
    loses_records,
)

_SYNCED = 500  # records that are acknowledged before all disks are synced


def _script(brokers: int) -> Script:
    return Script(
        steps=(
            Until(condition=Acknowledged(_SYNCED)),
            Begin(name="sync", fault=SyncDisks(victim=AllBrokers())),
            End(name="sync"),
            Begin(name="move", fault=MoveReplicas(victim=AllBrokers())),
            End(name="move"),
            Rest(seconds=1.0),
            Begin(name="power", fault=PowerOff(victim=AllBrokers())),
            Rest(seconds=1.0),
            End(name="power"),
            Until(condition=Whole(brokers), within_s=60.0),
        )
    )


_SIDES = (
    Side(
        name=f"{SETTING}={MovedReplica.UNSYNCED}",
        settings={SETTING: MovedReplica.UNSYNCED},
        expected=loses_records(_SYNCED, also=SEE_LOST_REPLICAS),
        promise="records that were on every disk are gone",
    ),
    Side(
        name=f"{SETTING}={MovedReplica.SYNCED}",
        settings={SETTING: MovedReplica.SYNCED},
        expected=AS_PROMISED,
        promise="none is",
    ),
)

_DESCRIPTION = (
    "All disks are synced, then every replica moves to the other log directory of its broker "
    "(AlterReplicaLogDirs), and the power of all brokers fails. Apache Kafka copies a replica, and "
    "marks the one that it was copied from for deletion before it has synced the copy. Records "
    "that were acknowledged before the sync were on every disk; nothing may take them. The other "
    "side syncs the disks as soon as the move is done."
)

_ALL, _ONE = _script(3), _script(1)

MOVED_REPLICAS = Scenario(
    name="moved-replicas",
    summary="all replicas move to another log directory, and the power of all brokers fails",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=_DESCRIPTION,
    takes=THREE_BROKERS,
    faults=_ALL.faults,
    script=_ALL,
    default_duration_s=30.0,
    load=replace(PROMISED, partitions=2),
    settings={**TWO_IN_SYNC, SETTING: MovedReplica.UNSYNCED, "log_dirs": "2"},
    sides=_SIDES,
)

MOVED_REPLICA = Scenario(
    name="moved-replica",
    summary="the replicas of one broker move to another log directory, and its power fails",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=f"{_DESCRIPTION} Here there is one broker, and one copy of each record.",
    takes=Takes(brokers=range(1, 2)),
    faults=_ONE.faults,
    script=_ONE,
    default_duration_s=30.0,
    load=replace(PROMISED, partitions=2),
    settings={
        SETTING: MovedReplica.UNSYNCED,
        **ONE_BROKER,
        "quorum": "static",
        "log_dirs": "2",
    },
    sides=_SIDES,
)
