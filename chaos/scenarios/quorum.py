"""Scenarios of the quorum: leaders and followers that are cut off, killed, paused and stopped."""

import random

from chaos.conditions import Conditions
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, PartialPartition, Ways
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.script import Begin, End, Rest, Schedule, Script, ScriptStep, Window, spread
from chaos.nemesis.victims import AllVoters, ControllerLeader, LeaderAnd, RandomFollower
from chaos.scenario import Scenario, Takes
from workloads.workload import RegisterOptions

# No faults: the behaviour of cluster, load and judge when all is well.


def _draw_baseline(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del rng, nodes  # nothing happens, whatever the seed
    return Schedule(duration_s=duration_s)


BASELINE = Scenario(
    name="baseline",
    summary="no faults: load, final reads, judgement",
    exists_for=("linearizable", "durability"),
    description=(
        "Runs the load against a healthy quorum. Any accusation here is the harness's own fault or "
        "a bug that needs no failure; the throughput is what faults are compared with."
    ),
    faults=(),
    draw=_draw_baseline,
    default_duration_s=10.0,
)


# The leader is cut off from the other voters, cleanly and one way at a time.


_PARTITION_LEADER_SLOT_S = (
    10.0  # long enough for a fetch time-out, an election and some time after it
)
_PARTITION_LEADER_CUTS: tuple[Fault, ...] = tuple(
    NetworkPartition(victim=ControllerLeader(), ways=ways)
    for ways in (Ways.BOTH, Ways.OUT, Ways.IN)
)


def _draw_partition_leader(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _PARTITION_LEADER_SLOT_S))
    cuts = [
        _PARTITION_LEADER_CUTS[number % len(_PARTITION_LEADER_CUTS)] for number in range(rounds)
    ]
    rng.shuffle(cuts)
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=0.6)


PARTITION_LEADER = Scenario(
    name="partition-leader",
    summary="the leader is cut off, both ways and one way at a time, and comes back",
    exists_for=("linearizable", "durability", "Q2-one-leader-per-epoch"),
    description=(
        "The leader is cut off from all other voters while clients still reach it: nothing from "
        "it arrives, nothing reaches it, or both. The others must elect a new leader; the old one "
        "must not acknowledge a write or answer a stale read, must resign, and must give up what "
        "was never committed when it is back (KIP-595: check-quorum, truncation)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_PARTITION_LEADER_CUTS,
    draw=_draw_partition_leader,
)


# The leader is killed, stopped in good order, or paused and comes back believing that it leads.


_KILL_LEADER_SLOT_S = 7.5
_FAULTS: tuple[Fault, ...] = (
    Kill(victim=ControllerLeader()),
    Pause(victim=ControllerLeader()),
    Terminate(victim=ControllerLeader()),
)


def _draw_kill_leader(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All three in turn, beginning with any; a short run has time for two."""
    del nodes
    order = rng.sample(_FAULTS, len(_FAULTS))
    rounds = max(2, round(duration_s / _KILL_LEADER_SLOT_S))
    faults = [order[number % len(order)] for number in range(rounds)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.55)


KILL_LEADER = Scenario(
    name="kill-leader",
    summary="the leader is killed, stopped in good order, or paused, and comes back",
    exists_for=("durability", "Q17-no-leader-again", "Q11-leader-completeness"),
    description=(
        "SIGKILL takes the process but not the page cache; the restarted node must remember its "
        "vote and epoch and must not lead again in its old epoch. After SIGTERM it hands over "
        "before it goes (EndQuorumEpoch), and the others elect at once instead of waiting for a "
        "time-out. A paused leader sleeps through an election and wakes up in a past in which it "
        "leads: it must not answer a single read."
    ),
    faults=_FAULTS,
    draw=_draw_kill_leader,
)


# Leaders are stopped in good order one after the other, while all disks are slow.


_HAND_OVER_SLOT_S = 3.0
_STOP = Terminate(victim=ControllerLeader())


def _draw_hand_over(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _HAND_OVER_SLOT_S))
    return spread([_STOP] * rounds, duration_s=duration_s, rng=rng, held_share=0.4)


HAND_OVER = Scenario(
    name="hand-over",
    summary="the leader is stopped in good order, and hands over to a node with a disk behind",
    exists_for=("durability", "Q11-leader-completeness", "heard-leader-is-kept"),
    description=(
        "A leader that stops names its successors (EndQuorumEpoch), and the first of them stands "
        "for election at once: with records that it has just been sent, and may not have on its "
        "disk yet. In virtual time most flushes are late, and nodes go on meanwhile: votes may be "
        "asked for with what is durable only."
    ),
    takes=Takes(voters=range(3, 8)),  # with fewer, no node is left that could be elected
    faults=(_STOP,),
    draw=_draw_hand_over,
    conditions=Conditions(late_flushes=0.7, late_most_us=200_000),
)


# A follower is cut off and comes back, again and again, while the leader is well.


_FLAPPING_FOLLOWER_SLOT_S = 6.0  # longer than a fetch time-out: it gives up its leader each time
_FLAPPING_FOLLOWER_CUTS: tuple[Fault, ...] = tuple(
    NetworkPartition(victim=RandomFollower(), ways=ways) for ways in (Ways.BOTH, Ways.IN)
)


def _draw_flapping_follower(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _FLAPPING_FOLLOWER_SLOT_S))
    cuts = [
        _FLAPPING_FOLLOWER_CUTS[number % len(_FLAPPING_FOLLOWER_CUTS)] for number in range(rounds)
    ]
    rng.shuffle(cuts)
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=0.65)


FLAPPING_FOLLOWER = Scenario(
    name="flapping-follower",
    summary="a follower with a bad link is cut off and comes back, while the leader is well",
    exists_for=("durability", "Q23-return-without-disturbance"),
    description=(
        "A voter that hears no other stands for election for ever. When it is back it must fall in "
        "behind the leader that all others hear: one bad link must not cost the cluster its "
        "leader (KIP-996, pre-vote)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_FLAPPING_FOLLOWER_CUTS,
    draw=_draw_flapping_follower,
)


# One follower does not hear the leader, though all others hear both.


_ESTRANGED_FOLLOWER_SLOT_S = (
    12.0  # after it, the others have heard their leader for long enough to refuse a pre-vote
)
_ESTRANGED_FOLLOWER_CUT = PartialPartition(victim=LeaderAnd(1))


def _draw_estranged_follower(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _ESTRANGED_FOLLOWER_SLOT_S))
    return spread(
        [_ESTRANGED_FOLLOWER_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.4
    )


ESTRANGED_FOLLOWER = Scenario(
    name="estranged-follower",
    summary="the link between the leader and one follower is cut; all others hear both",
    exists_for=("durability", "asked-before-standing", "heard-leader-is-kept"),
    description=(
        "The follower misses its leader and asks the others for their votes. They hear the leader "
        "and must refuse, else each of the two deposes the other for as long as the link is cut "
        "(KIP-996, pre-vote)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_ESTRANGED_FOLLOWER_CUT,),
    draw=_draw_estranged_follower,
)


# Leadership passes from node to node and back, with writes in flight each time.


_LEADER_RELAY_SLOT_S = 5.0
_LEADER_RELAY_CUT = NetworkPartition(victim=ControllerLeader())


def _draw_leader_relay(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _LEADER_RELAY_SLOT_S))
    return spread([_LEADER_RELAY_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.7)


LEADER_RELAY = Scenario(
    name="leader-relay",
    summary="each leader is cut off in turn, so that former leaders lead again",
    exists_for=("durability", "Q2-one-leader-per-epoch", "Q17-no-leader-again"),
    description=(
        "Each leader is deposed with writes in flight, and lives on. When it leads again it must "
        "have forgotten what it had decided and was never committed. Many keys and few writes, so "
        "that nothing newer has covered a stale value by then."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_LEADER_RELAY_CUT,),
    draw=_draw_leader_relay,
    # Faster, each key would be overwritten before a deposed leader leads again.
    load=RegisterOptions(live_keys=300, rate=60.0),
)


# The leader is cut off together with a few followers; it comes back first, and they later.


_RETURNING_MINORITY_SLOT_S = 8.0
# Held for about a fetch time-out, less the probing before the cure: the leader is back when the
# others have just elected another, and has not missed its majority yet.
_RETURNING_MINORITY_HELD_S = 1.5
_STAGGER_MS = 2000


def _cut_returning_minority(others: int) -> Fault:
    return NetworkPartition(victim=LeaderAnd(others), stagger_ms=_STAGGER_MS)


def _draw_returning_minority(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """With fewer than five nodes, the leader has to be cut off alone: two would be a majority."""
    rounds = max(1, round(duration_s / _RETURNING_MINORITY_SLOT_S))
    share = _RETURNING_MINORITY_HELD_S * rounds / duration_s
    cuts = [_cut_returning_minority(1 if nodes >= 5 else 0)] * rounds
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=share)


RETURNING_MINORITY = Scenario(
    name="returning-minority",
    summary="the leader is cut off with one follower, and is back some seconds before that one",
    exists_for=("durability", "asked-before-standing", "heard-leader-is-kept"),
    description=(
        "The follower hears only the leader, and goes on fetching what will never be "
        "committed. The leader comes back, learns of another and cuts its log, while that Fetch "
        "still waits in it: it must be answered by what the node is now, or not at all "
        "(KAFKA-15100, KAFKA-18723). Takes 5 nodes; of fewer, the leader is cut off alone."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_cut_returning_minority(0), _cut_returning_minority(1)),
    draw=_draw_returning_minority,
)


# The leader is cut off with one of its four followers, for longer than it may lead then.


_MINORITY_OF_TWO_SLOT_S = 14.0
# Check-quorum takes 1.5 fetch time-outs of 2 s, and twice that if its count restarts just before
# the cut, as it may with five voters; the check allows 2 s more, and judges longer times.
_MINORITY_OF_TWO_HELD_S = 9.0


def _cut_minority_of_two(others: int) -> Fault:
    return NetworkPartition(victim=LeaderAnd(others))


def _draw_minority_of_two(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """With fewer than five nodes, the leader has to be cut off alone: two would be a majority."""
    rounds = max(1, round(duration_s / _MINORITY_OF_TWO_SLOT_S))
    cuts = [_cut_minority_of_two(1 if nodes >= 5 else 0)] * rounds
    return spread(
        cuts,
        duration_s=duration_s,
        rng=rng,
        held_share=_MINORITY_OF_TWO_HELD_S * rounds / duration_s,
    )


MINORITY_OF_TWO = Scenario(
    name="minority-of-two",
    summary="the leader is cut off with one follower, for more than 1.5 fetch time-outs",
    exists_for=("linearizable", "Q22-cut-off-leader-resigns"),
    description=(
        "One follower goes on fetching from the leader, which is no majority of five: the leader "
        "must resign (KIP-595, check-quorum), and must not take the one that it hears for all of "
        "them. The other three elect a leader meanwhile. Takes 5 nodes; of fewer, the leader is "
        "cut off alone."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_cut_minority_of_two(0), _cut_minority_of_two(1)),
    draw=_draw_minority_of_two,
)


# The leader dies while the network is slow: candidates hear of each other too late.


_SLOW_ELECTION_SLOT_S = 20.0  # long enough to distinguish a slow election from one that never ends
_SLOW_ELECTION_KILL = Kill(victim=ControllerLeader(), latency_ms=200)


def _draw_slow_election(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOW_ELECTION_SLOT_S))
    return spread([_SLOW_ELECTION_KILL] * rounds, duration_s=duration_s, rng=rng, held_share=0.9)


SLOW_ELECTION = Scenario(
    name="slow-election",
    summary="the leader is killed while the links between the others are slow",
    exists_for=("durability", "Q3-one-vote-per-epoch", "Q4-elected-by-a-majority"),
    description=(
        "Its followers miss it at the same moment, stand at the same moment, and each has voted "
        "for itself before it hears of the others. Waits drawn at random part them within a few "
        "rounds; without that they would collide for ever (Raft 3.4). Best seen with 5 nodes."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_SLOW_ELECTION_KILL,),
    draw=_draw_slow_election,
    # So that nothing is in flight: only the owner of the longer of two logs is elected.
    load=RegisterOptions(rate=30.0),
)


# A leader is cut off before anything of its epoch is committed: the whole epoch is truncated.


_ROUNDS = 3
# Four trips lie between an election and the commit of its LeaderChange: time enough to find the new
# leader and to cut it off.
_SLOW = SlowLinks(latency_ms=150)
_FRESH_LEADER_KILL = Kill(victim=ControllerLeader())
_FRESH_LEADER_CUT = NetworkPartition(victim=ControllerLeader())  # the next leader
_STEPS: tuple[ScriptStep, ...] = (
    Rest(seconds=1.5),
    Begin(name="slow", fault=_SLOW),
    Rest(seconds=1.0),
    Begin(name="kill", fault=_FRESH_LEADER_KILL),
    Begin(name="cut", fault=_FRESH_LEADER_CUT),
    Rest(seconds=1.0),  # it cannot commit what clients send
    End(name="kill"),  # two of three nodes can elect again
    Rest(seconds=3.5),
    End(name="cut"),
    Rest(seconds=1.0),
    End(name="slow"),
)

FRESH_LEADER = Scenario(
    name="fresh-leader",
    summary="over slow links, the leader is killed and its successor cut off as soon as it leads",
    exists_for=("durability", "Q7-quorum-high-watermark", "Q11-leader-completeness"),
    description=(
        "The successor has appended the LeaderChange of its epoch, and what clients sent to it, "
        "before any node could fetch it. The others elect a third leader. When the successor is "
        "back it must truncate its whole epoch, not only a tail of it: its log ends in an epoch "
        "that no other node has (KIP-595, truncation by epoch and offset)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_SLOW, _FRESH_LEADER_KILL, _FRESH_LEADER_CUT),
    script=Script(steps=_STEPS * _ROUNDS),
    default_duration_s=45.0,
)


# One follower lags behind by a second, and then all nodes die at once.


_LAGGARD_SLOT_S = (
    10.0  # all nodes are up again and follow a leader before the next follower is cut off
)
_LEAST_SLOT_S = 7.0
_BEFORE_S = (2.0, 4.0)
_LAGS_S = (0.8, 1.5)  # less than a fetch time-out: the follower does not ask for votes meanwhile
_DEAD_S = 0.5
# The cut outlasts the death, so that the follower cannot catch up before it, and nodes are there to
# send what must not arrive; it ends before any node stands for election.
_AFTERWARDS_S = 0.5
_LAGGARD_CUT = NetworkPartition(victim=RandomFollower())
_DEATHS: tuple[Fault, ...] = (PowerOff(victim=AllVoters()), Kill(victim=AllVoters()))


def _draw_laggard(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _LAGGARD_SLOT_S))
    slot_s = duration_s / rounds
    windows = [
        window
        for number in range(rounds)
        for window in _round(rng, number * slot_s, slot_s, _DEATHS[number % len(_DEATHS)])
    ]
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _round(
    rng: random.Random, began_s: float, slot_s: float, death: Fault
) -> tuple[Window, Window]:
    """All times are shorter if the run is too short for them."""
    scale = min(1.0, slot_s / _LEAST_SLOT_S)
    cut_s = began_s + scale * rng.uniform(*_BEFORE_S)
    death_s = cut_s + scale * rng.uniform(*_LAGS_S)
    back_s = death_s + scale * _DEAD_S
    return (
        _window(cut_s, back_s + scale * _AFTERWARDS_S, _LAGGARD_CUT),
        _window(death_s, back_s, death),
    )


def _window(from_s: float, to_s: float, fault: Fault) -> Window:
    return Window(at_s=round(from_s, 3), hold_s=round(to_s - from_s, 3), fault=fault)


LAGGARD = Scenario(
    name="laggard",
    summary="a follower is cut off for about a second, then all nodes die at the same moment",
    exists_for=("durability", "Q11-leader-completeness"),
    description=(
        "While one follower hears nothing, the others go on and acknowledge writes. Then all lose "
        "their power, or are killed, and start together. The one that lags may stand for election "
        "first; nodes that have the acknowledged writes must not vote for it (Raft, election "
        "restriction), and what the majority had was durable before it was acknowledged."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_LAGGARD_CUT, *_DEATHS),
    draw=_draw_laggard,
)
