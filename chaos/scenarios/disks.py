"""Scenarios of disks: power failures, lost disks, and disks that are formatted anew."""

import random
from dataclasses import replace

from chaos.cluster.interface import DiskTrouble, NodeId
from chaos.conditions import Conditions
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.voters import LoseDisk
from chaos.nemesis.script import Begin, End, Rest, Schedule, Script, Until, Window, spread
from chaos.nemesis.victims import (
    AllBrokers,
    AllFollowers,
    AllVoters,
    ControllerLeader,
    OneNode,
    RandomFollower,
)
from chaos.scenario import CONTROLLERS_ALONE, OnKafka, Scenario, Side, Takes
from chaos.scenarios.loads import (
    AS_PROMISED,
    FORGETS_TOPICS,
    PROMISED,
    SEE_FORGOTTEN_LOG,
    THREE_BROKERS,
    TWO_IN_SYNC,
    ends_by_itself,
)
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# The power of the leader fails, of a follower, and of all voters at one moment.


_POWER_OFF_SLOT_S = 7.5
_FAULTS: tuple[Fault, ...] = (
    PowerOff(victim=ControllerLeader()),
    PowerOff(victim=RandomFollower()),
    PowerOff(victim=AllVoters()),
)


def _draw_power_off(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """Single cuts first, in any order; each round ends with all voters at once."""
    del nodes
    slots = max(len(_FAULTS), round(duration_s / _POWER_OFF_SLOT_S))
    singles, all_at_once = list(_FAULTS[:2]), _FAULTS[2]
    faults: list[Fault] = []
    while len(faults) < slots:
        rng.shuffle(singles)
        faults += [*singles, all_at_once]
    return spread(faults[:slots], duration_s=duration_s, rng=rng, held_share=0.35)


POWER_OFF = Scenario(
    name="power-off",
    summary="power fails while writes are in flight: the leader, a follower, all voters at once",
    exists_for=("durability", "Q18-durable-before-counted", "durable-before-asked"),
    description=(
        "What was not fsynced is gone, as on a real disk; a canary on the disk proves it. A write "
        "that was acknowledged must survive even when every voter loses power at one moment: that "
        "is what fsync before visible is for. Never run as a mere kill: where the power of "
        "disks cannot be cut, the scenario is refused."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_FAULTS,
    draw=_draw_power_off,
    conditions=Conditions(late_flushes=0.3, late_most_us=100_000),
)


# The power of all voters fails, again and again, while their disks are busy.


_BLACKOUT_SLOT_S = 7.0
_BLACKOUT_CUT = PowerOff(victim=AllVoters(), disks=DiskTrouble.SLOW)


def _draw_blackout(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _BLACKOUT_SLOT_S))
    return spread([_BLACKOUT_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.1)


BLACKOUT = Scenario(
    name="blackout",
    summary="the power of all voters fails at one moment, while their disks are slow; and again",
    exists_for=("durability", "Q3-one-vote-per-epoch", "Q18-durable-before-counted"),
    description=(
        "As in a data centre where power flickers: no node survives to remember what was promised, "
        "so all of it must be on the disks, and the votes and leaders of each epoch as well. "
        "Overloaded disks take their time, so a cut finds much under way that is not yet durable."
    ),
    faults=(_BLACKOUT_CUT,),
    draw=_draw_blackout,
)


# A voter's disk is lost and replaced, and two commands make its node a voter again (KIP-856).


_DISK_LOSS_SLOT_S = 10.0
_LOSSES: tuple[Fault, ...] = (
    LoseDisk(victim=RandomFollower()),
    LoseDisk(victim=ControllerLeader()),
)
_DEATH = Kill(victim=ControllerLeader())


def _draw_disk_loss(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """A follower's disk and the leader's, beginning with either; after each the leader dies."""
    del nodes
    order = rng.sample(_LOSSES, len(_LOSSES))
    rounds = max(1, round(duration_s / (2 * _DISK_LOSS_SLOT_S)))
    faults = [fault for number in range(rounds) for fault in (order[number % 2], _DEATH)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.4)


DISK_LOSS = Scenario(
    name="disk-loss",
    summary="a voter's disk is lost, its node comes back as an observer and is made a voter again",
    exists_for=("durability", "V5-acknowledged-changes-stay", "V8-new-disk-is-no-voter"),
    description=(
        "A disk dies while clients write, a follower's or the leader's. It is replaced, and "
        "formatted without voters: what comes back has another directory id, and is another "
        "replica. It follows as an observer until it holds all that is committed; then the "
        "operator makes it a voter, and the lost disk's replica none, in the order that the "
        "quorum has (KIP-853: first the old one goes; KIP-856: first the new one comes). "
        "Afterwards the leader dies: of three voters, no node is elected and nothing committed "
        "without the one that is new. Nothing that was committed is lost, and the lost disks are "
        "kept for the judge."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(*_LOSSES, _DEATH),
    draw=_draw_disk_loss,
    default_duration_s=40.0,
    settings={"bootstrap": "3"},
    on_kafka=OnKafka(settings=CONTROLLERS_ALONE),
)


# Two of three voters lose their disks, one after the other: the quorum stops, and forgets nothing.
#
# This is the only scenario in which the cluster never becomes whole again, and must not.


_LEADERS, _FOLLOWERS = Wipe(victim=ControllerLeader()), Wipe(victim=RandomFollower())
_FIRST_AT, _SECOND_AT = (0.1, 0.2), (0.55, 0.65)  # shares of the whole time
_HELD = 0.1


def _draw_disk_loss_majority(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """A follower's disk or the leader's; then the disk of the current leader, which is a voter."""
    del nodes

    def window(fault: Wipe, bounds: tuple[float, float]) -> Window:
        at_s = round(duration_s * rng.uniform(*bounds), 3)
        return Window(at_s=at_s, hold_s=round(_HELD * duration_s, 3), fault=fault)

    first = rng.choice((_LEADERS, _FOLLOWERS))
    windows = (window(first, _FIRST_AT), window(_LEADERS, _SECOND_AT))
    return Schedule(duration_s=duration_s, windows=windows)


DISK_LOSS_MAJORITY = Scenario(
    name="disk-loss-majority",
    summary="two of three voters lose their disks one after the other: the quorum stops",
    exists_for=("stops-without-a-majority",),
    description=(
        "A disk dies while clients write, and is replaced by a new one that is formatted without "
        "voters; no operator makes it a voter. The two voters that are left go on. Then the leader "
        "loses its disk as well. One voter is left, which holds all that was acknowledged, and two "
        "empty disks, which are voters of nothing: no node may be elected any more, and nothing be "
        "acknowledged (KIP-856). The run is valid if the quorum stops, and the verdict says since "
        "when."
    ),
    takes=Takes(voters=range(3, 4)),
    faults=(_LEADERS, _FOLLOWERS),
    draw=_draw_disk_loss_majority,
    settings={"bootstrap": "3"},
    on_kafka=OnKafka(settings=CONTROLLERS_ALONE),
)


# KIP-856's motivation: a controller that lost its disk votes as if it remembered.


_REFORMAT_FORGETS_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="behind", fault=NetworkPartition(victim=RandomFollower())),
        Rest(seconds=6.0),  # topics are created, and committed by the other two
        Begin(name="wiped", fault=Wipe(victim=RandomFollower())),
        Begin(name="first", fault=NetworkPartition(victim=ControllerLeader())),
        End(name="wiped"),
        End(name="behind"),
        Rest(seconds=10.0),  # an election, if the forgetful node may vote for the one behind
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
    faults=_REFORMAT_FORGETS_SCRIPT.faults,
    script=_REFORMAT_FORGETS_SCRIPT,
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


# KIP-856's motivation on a quorum alone: two disks are formatted anew, and where directory ids are
# ignored the quorum forgets committed records.


_WIPED, _REFORMAT_IGNORED_AWAY = Wipe(victim=AllFollowers()), Kill(victim=ControllerLeader())
# Shares of the whole time; an election among the returned nodes takes less time than the leader is
# away.
_AT, _AWAY_AFTER, _WIPED_FOR, _AWAY_FOR = (0.16, 0.24), 0.02, 0.1, 0.36


def _draw_reformat_ignored(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """Both followers' disks; then the leader is off until long after they are back."""
    del nodes
    at = rng.uniform(*_AT)

    def window(begin: float, hold: float, fault: Fault) -> Window:
        at_s, hold_s = round(begin * duration_s, 3), round(hold * duration_s, 3)
        return Window(at_s=at_s, hold_s=hold_s, fault=fault)

    windows = (
        window(at, _WIPED_FOR, _WIPED),
        window(at + _AWAY_AFTER, _AWAY_FOR, _REFORMAT_IGNORED_AWAY),
    )
    return Schedule(duration_s=duration_s, windows=windows, side_by_side=True)


REFORMAT_IGNORED = Scenario(
    name="reformat-ignored",
    summary="two voters' disks are formatted anew while the leader, which alone remembers, is off",
    exists_for=("durability", "Q11-leader-completeness"),
    description=(
        "Of three voters, both followers lose their disks, and the leader, which alone has what "
        "was committed, is killed for a while. Where directory ids are ignored (quorum=static, "
        "kraft.version 0) the two empty disks vote as the lost ones did, elect one of themselves, "
        "and go on with an empty log: the leader that comes back has to give up what was "
        "committed. Where a voter is a node with its disk, formatted as one (KIP-853) or listed "
        "(KIP-856), the two are no voters: the quorum stops rather than forgets. reformat-forgets "
        "tells the same of Apache Kafka's controllers, with brokers beside them."
    ),
    takes=Takes(voters=range(3, 4)),
    faults=(_WIPED, _REFORMAT_IGNORED_AWAY),
    draw=_draw_reformat_ignored,
    default_duration_s=25.0,
    sides=(
        Side(
            name="directory-ids=off",
            settings={"quorum": "static"},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="durability",
                anomaly="acknowledged, is lost",
                also=(
                    *SEE_FORGOTTEN_LOG,
                    "linearizable",
                    "written-in-order",
                    "reads-match-the-log",
                    "reads-are-committed",
                    "requests-are-whole",
                    "records-explained",
                ),
            ),
            promise="what was acknowledged is forgotten",
        ),
        Side(
            name="directory-ids=on",
            settings={"quorum": "dynamic", "bootstrap": "3"},
            expected=AS_PROMISED,
            promise="the quorum stops, and nothing is forgotten",
        ),
        Side(
            name="directory-ids=on,quorum=listed",
            settings={"quorum": "listed"},
            expected=AS_PROMISED,
            promise="the same, where the configuration lists the voters",
        ),
    ),
)


# A follower is away until the log that it needs is deleted; then power fails while snapshots are
# new.


_SNAPSHOT_CATCH_UP_AWAY, _SNAPSHOT_CATCH_UP_CUT = (
    Kill(victim=RandomFollower()),
    PowerOff(victim=AllVoters()),
)
_AWAY_AT = 0.1  # shares of the whole time
_AWAY_SHARE = 0.4  # many snapshots are taken meanwhile, and the log behind them is deleted
_CUT_AT = (0.65, 0.85)
_DEAD_SHARE = 0.025


def _draw_snapshot_catch_up(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    cut_s = round(duration_s * rng.uniform(*_CUT_AT), 3)
    away = Window(
        at_s=round(_AWAY_AT * duration_s, 3),
        hold_s=round(_AWAY_SHARE * duration_s, 3),
        fault=_SNAPSHOT_CATCH_UP_AWAY,
    )
    dead = Window(
        at_s=cut_s, hold_s=round(_DEAD_SHARE * duration_s, 3), fault=_SNAPSHOT_CATCH_UP_CUT
    )
    return Schedule(duration_s=duration_s, windows=(away, dead))


SNAPSHOT_CATCH_UP = Scenario(
    name="snapshot-catch-up",
    summary="a follower comes back when the log begins behind what it has, and fetches a snapshot",
    exists_for=("came-about", "stored-snapshots-agree", "Q14-log-starts-at-a-snapshot"),
    description=(
        "Snapshots are taken every few records, and the metadata log is cut behind them. A "
        "follower is killed, and what it lacks is removed while it is away: it must catch up by a "
        "snapshot, without an election. Then all nodes lose their power at the same moment, and "
        "begin with the snapshots that they find (KIP-630). What was overwritten below a snapshot "
        "is nowhere any more; what is the current value must be in it. A run in which no node "
        "loaded a snapshot is void."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_SNAPSHOT_CATCH_UP_AWAY, _SNAPSHOT_CATCH_UP_CUT),
    draw=_draw_snapshot_catch_up,
    default_duration_s=20.0,
    # Each of Apache Kafka's controllers checks every minute what it may delete, and a killed one is
    # away for longer than that; a segment is 8 MiB at least, but its age may close it.
    on_kafka=OnKafka(
        settings={**CONTROLLERS_ALONE, "metadata.log.segment.ms": "2000"}, duration_s=170.0
    ),
    conditions=Conditions(segment_bytes=2_048, snapshot_bytes=4_000, retention_bytes=20_000),
    to_show=("q.loaded",),
)


# The power fails soon after the disks were formatted.


_FORMAT_POWER_OFF_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(1)),
        Begin(name="power", fault=PowerOff(victim=AllBrokers())),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FORMAT_POWER_OFF = Scenario(
    name="format-power-off",
    summary="the power of all brokers fails soon after their disks were formatted",
    exists_for=("nodes-kept-running",),
    description=(
        "A node that was formatted has to start, whenever its power fails. Apache Kafka's format "
        "writes one of its files without syncing it: a power cut within the half minute in which "
        "the kernel keeps such data to itself leaves it empty, and the node never starts again. "
        "Other scenarios sync the disks after the format (synced_format=on)."
    ),
    takes=THREE_BROKERS,
    faults=_FORMAT_POWER_OFF_SCRIPT.faults,
    script=_FORMAT_POWER_OFF_SCRIPT,
    default_duration_s=15.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="synced_format=off",
            settings={"synced_format": "off"},
            expected=ends_by_itself("No FeatureLevelRecord for metadata.version"),
            promise="brokers do not start again",
        ),
        Side(
            name="synced_format=on",
            settings={"synced_format": "on"},
            expected=AS_PROMISED,
            promise="all come back; what they lost was allowed",
        ),
    ),
)


# A broker loses its power before its copy of the metadata log is on its disk.


_OBSERVER_POWER_OFF_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="power", fault=PowerOff(victim=OneNode(NodeId(1)))),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

OBSERVER_POWER_OFF = Scenario(
    name="observer-power-off",
    summary="a broker's power fails soon after its first start",
    exists_for=("nodes-kept-running",),
    description=(
        "An observer of the metadata quorum need not sync what it fetches: it can fetch it again. "
        "But what it knows of the leader is synced at once. A broker that loses power in between "
        "comes back with an empty log, in which the voters would be, and with the leader's id. "
        "Where the voters are named by configuration (quorum=static) it goes on; where they are in "
        "the log alone (quorum=dynamic, KIP-853) it must go on as well."
    ),
    takes=THREE_BROKERS,
    faults=_OBSERVER_POWER_OFF_SCRIPT.faults,
    script=_OBSERVER_POWER_OFF_SCRIPT,
    default_duration_s=15.0,
    load=PROMISED,
    settings={"min_isr": "2"},
    sides=(
        Side(
            name="quorum=dynamic",
            settings={"quorum": "dynamic"},
            expected=ends_by_itself("Expected to be Follower"),
            promise="the broker does not start again",
        ),
        Side(
            name="quorum=static",
            settings={"quorum": "static"},
            expected=AS_PROMISED,
            promise="it does",
        ),
    ),
)
