"""KIP-856's motivation: a controller that lost its disk votes as if it remembered."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, FORGETS_TOPICS, PROMISED, THREE_BROKERS

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="behind", fault=NetworkPartition(victim=RandomFollower())),
        Rest(seconds=6.0),  # topics are created, and committed by the two that are left
        Begin(name="wiped", fault=Wipe(victim=RandomFollower())),
        Begin(name="first", fault=NetworkPartition(victim=ControllerLeader())),
        End(name="wiped"),
        End(name="behind"),
        Rest(seconds=10.0),  # an election, if the one that forgot may vote for the one behind
        End(name="first"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

REFORMAT_FORGETS = Scenario(
    name="reformat-forgets",
    summary="a controller loses its disk and votes for one that lacks the latest topics",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "Of three controllers, a follower is cut off while topics are created: the others hold "
        "them, a majority. Then the second follower loses its disk, the leader is cut off, and the "
        "first one comes back. Where voters are known by their ids alone (quorum=static, "
        "kraft.version 0), the empty one elects the one that was behind, and committed "
        "topics are forgotten. Where a voter is id and directory (quorum=dynamic, KIP-856), "
        "the new disk is no voter, and the quorum stops rather than forgets."
    ),
    takes=THREE_BROKERS,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, producers=5, rate=50.0, admin_rate=3.0),
    settings={"min_isr": "2", "controllers": "3"},
    sides=(
        Side(
            name="quorum=static",
            settings={"quorum": "static"},
            expected=FORGETS_TOPICS,
            promise="topics are forgotten that were acknowledged",
        ),
        Side(
            name="quorum=dynamic",
            settings={"quorum": "dynamic"},
            expected=AS_PROMISED,
            promise="none is forgotten",
        ),
    ),
)
