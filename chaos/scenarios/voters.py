"""Scenarios of voters: new quorums, removed leaders, changes under faults, uninformed voters."""

import random
from collections.abc import Callable

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, PartialPartition, Ways
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.voters import LoseDisk, LostVoter, RemoveLeadingDirectory, RemoveVoter
from chaos.nemesis.script import (
    Begin,
    End,
    Rest,
    Schedule,
    Script,
    StartAll,
    UntilLed,
    Window,
    spread,
)
from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    RandomFollower,
    SomeNodes,
    VotersByOneDisk,
)
from chaos.scenario import Scenario, Takes
from workloads.membership import MembershipOptions

# A new quorum loses its power again and again while it writes its first records.


_BOOTSTRAP_SLOT_S = 7.0
_SOME, _LEADER, _ALL = (
    PowerOff(victim=victim) for victim in (SomeNodes(2), ControllerLeader(), AllVoters())
)

_COMING_UP = Script(
    steps=(
        StartAll(),
        Begin(name="some", fault=_SOME),
        Rest(seconds=0.5),
        End(name="some"),
        UntilLed(),
        Begin(name="leader", fault=_LEADER),
        Rest(seconds=0.5),
        End(name="leader"),
        UntilLed(anew=True),
        Begin(name="all", fault=_ALL),
        Rest(seconds=0.5),
        End(name="all"),
    )
)


def _draw_bootstrap(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _BOOTSTRAP_SLOT_S))
    return spread([_ALL] * rounds, duration_s=duration_s, rng=rng, held_share=0.1)


BOOTSTRAP = Scenario(
    name="bootstrap",
    summary="the power fails while a new quorum elects its first leaders, and later on",
    exists_for=("durability", "Q3-one-vote-per-epoch", "epochs-have-an-origin"),
    description=(
        "What every later record rests on is written within a second of the first election: the "
        "voters (KIP-856: the directory ids of all voters, in one batch). The power of two nodes "
        "fails as soon as they run, that of the first leader as soon as it leads, and that of all "
        "when the next one does. No voter set may ever be half known, and the quorum has to serve."
    ),
    faults=(_SOME, _LEADER, _ALL),
    coming_up=_COMING_UP,
    draw=_draw_bootstrap,
    default_duration_s=15.0,
)


# The leader is removed from the voters, and another one leads; in both forms of a quorum.
#
# If voters are listed (KIP-856) no node is without a vote for good: the directory by which a node
# leads is removed, while another directory of that node is a voter.


_REMOVE_LEADER_SLOT_S = 10.0
_REMOVE_LEADER_REMOVAL = RemoveVoter(victim=ControllerLeader())


def _draw_remove_leader(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    faults = [_REMOVE_LEADER_REMOVAL] * max(1, round(duration_s / _REMOVE_LEADER_SLOT_S))
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.4)


REMOVE_LEADER = Scenario(
    name="remove-leader",
    summary="the leader is removed from the voters, and is added again",
    exists_for=(
        "V5-acknowledged-changes-stay",
        "V9-removed-leader-resigns",
        "V11-changes-come-to-an-end",
    ),
    description=(
        "An operator asks the leader to remove itself (KIP-853). It writes the voters from now on, "
        "does not count itself any more, leads on until a majority of the others has that record, "
        "and resigns; another is elected, and the one that was removed follows it as an observer. "
        "Then it is added again, and no write is lost."
    ),
    takes=Takes(voters=range(2, 8), settings={"quorum": ("dynamic",)}),
    faults=(_REMOVE_LEADER_REMOVAL,),
    draw=_draw_remove_leader,
    settings={"quorum": "dynamic"},
)

_REMOVE_LEADER_SCRIPT = Script(
    steps=(
        Rest(seconds=1.5),
        Begin(name="lost", fault=LoseDisk(victim=ControllerLeader(), lost_voter=LostVoter.KEPT)),
        Rest(seconds=1.0),
        End(name="lost"),
        UntilLed(),
        # All others hear the node with two directories, not each other: it alone can be elected.
        Begin(name="apart", fault=PartialPartition(victim=VotersByOneDisk())),
        UntilLed(anew=True),
        End(name="apart"),
        Rest(seconds=1.0),
        Begin(name="removed", fault=RemoveLeadingDirectory(victim=ControllerLeader())),
        Rest(seconds=2.0),
        End(name="removed"),
        Rest(seconds=1.5),
    )
)

REMOVE_LEADER_DIRECTORY = Scenario(
    name="remove-leader-directory",
    summary="the directory by which a node leads is removed, while another of its node stays",
    exists_for=("V5-acknowledged-changes-stay", "V11-changes-come-to-an-end"),
    description=(
        "The leader's disk is lost. Its node comes back with a new one, which is made a voter "
        "beside the lost one (KIP-856): one node is two voters. The others hear that node and not "
        "each other until it leads. Then an operator asks it to remove the very directory by which "
        "it leads. It writes that, does not count itself any more, though its node is a voter by "
        "the lost disk, leads on until a majority of the others has the record, and resigns; "
        "another is elected. Then the directory is added again and the lost one removed, and "
        "no write is lost."
    ),
    takes=Takes(voters=range(3, 4), settings={"quorum": ("listed",)}),
    faults=_REMOVE_LEADER_SCRIPT.faults,
    script=_REMOVE_LEADER_SCRIPT,
    default_duration_s=20.0,
)


# Voters come and go while nodes die and links are cut.


_MEMBERSHIP_CHURN_SLOT_S = 15.0
_MEMBERSHIP_CHURN_CUT = NetworkPartition(victim=ControllerLeader(), ways=Ways.BOTH)
_SLOW_DEATH = Kill(victim=ControllerLeader(), latency_ms=300)
_MEMBERSHIP_CHURN_DEATH = Kill(victim=ControllerLeader())
_POWER = PowerOff(victim=ControllerLeader())
_ONE, _TWO = RemoveVoter(victim=SomeNodes(1)), RemoveVoter(victim=SomeNodes(2))
_LOSS = LoseDisk(victim=RandomFollower())

_Begin = Callable[[float, float, Fault], Window]


def _while_cut_off(rng: random.Random, window: _Begin) -> list[Window]:
    """A leader that no voter hears any more is asked; its records are truncated later."""
    return [window(0.0, 4.0, _MEMBERSHIP_CHURN_CUT), window(rng.uniform(0.2, 1.2), 4.0, _ONE)]


def _while_elected(rng: random.Random, window: _Begin) -> list[Window]:
    """Over slow links, a new leader is asked before anything of its epoch is committed."""
    return [window(0.0, 5.0, _SLOW_DEATH), window(rng.uniform(0.2, 1.0), 4.0, _ONE)]


def _two_at_once(rng: random.Random, window: _Begin) -> list[Window]:
    """Two changes are requested at the same time; soon afterwards the leader loses its power."""
    return [window(0.0, 4.0, _TWO), window(rng.uniform(0.5, 3.0), 1.5, _POWER)]


def _while_replaced(rng: random.Random, window: _Begin) -> list[Window]:
    """A new disk is there, which does not vote yet, and the leader dies."""
    back_s = rng.uniform(2.0, 3.0)
    return [window(0.0, back_s, _LOSS), window(back_s - 0.1, 4.0, _MEMBERSHIP_CHURN_DEATH)]


_ROUNDS = (_while_cut_off, _while_elected, _two_at_once, _while_replaced)


def _draw_membership_churn(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All in turn, beginning with any."""
    del nodes
    rounds = max(1, round(duration_s / _MEMBERSHIP_CHURN_SLOT_S))
    slot_s, first = duration_s / rounds, rng.randrange(len(_ROUNDS))
    windows: list[Window] = []
    for number in range(rounds):
        began_s = number * slot_s + slot_s * rng.uniform(0.1, 0.2)
        scale = min(1.0, slot_s / _MEMBERSHIP_CHURN_SLOT_S)

        def window(
            at_s: float, hold_s: float, fault: Fault, began: float = began_s, scale: float = scale
        ) -> Window:
            return Window(
                at_s=round(began + scale * at_s, 3), hold_s=round(scale * hold_s, 3), fault=fault
            )

        windows += _ROUNDS[(first + number) % len(_ROUNDS)](rng, window)
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


MEMBERSHIP_CHURN = Scenario(
    name="membership-churn",
    summary="voters are removed and added, and disks replaced, while leaders die or are cut off",
    exists_for=("V1-one-voter-at-a-time", "V5-acknowledged-changes-stay", "voters-as-asked-for"),
    description=(
        "An operator changes the voters while the quorum is hurt, by one at a time as far as the "
        "leader lets it. A leader that is cut off is asked, and what it writes is undone when it "
        "is back; a leader is asked before it has committed anything in its epoch; two changes are "
        "asked for at the same time, and the power of the one that wrote the first fails; the "
        "leader dies while a new disk waits to become a voter. The next leader goes by the voters "
        "of its own log, committed or not, and in the end all that was acknowledged is there, of "
        "writes and of changes."
    ),
    takes=Takes(voters=range(3, 8), settings={"quorum": ("dynamic",)}),
    faults=(_MEMBERSHIP_CHURN_CUT, _SLOW_DEATH, _MEMBERSHIP_CHURN_DEATH, _POWER, _ONE, _TWO, _LOSS),
    draw=_draw_membership_churn,
    default_duration_s=60.0,
    settings={"quorum": "dynamic", "bootstrap": "3"},
)


# Clients remove, add and describe voters while leaders die or are cut off.


_CHANGING_VOTERS_SLOT_S = 10.0
_HELD_SHARE = 0.4
_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=ControllerLeader(), ways=Ways.BOTH),
    Kill(victim=ControllerLeader()),
    PowerOff(victim=ControllerLeader()),
)


def _draw_changing_voters(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All in turn, beginning with any."""
    del nodes
    rounds, first = max(1, round(duration_s / _CHANGING_VOTERS_SLOT_S)), rng.randrange(len(_FAULTS))
    faults = [_FAULTS[(first + number) % len(_FAULTS)] for number in range(rounds)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=_HELD_SHARE)


CHANGING_VOTERS = Scenario(
    name="changing-voters",
    summary="clients remove, add and describe voters while leaders die or are cut off",
    exists_for=("V5-acknowledged-changes-stay", "voters-as-told", "voters-as-asked-for"),
    description=(
        "What membership-churn has an operator do, clients do all the time: each asks a node for "
        "the voters, and then for a change. A leader that no voter hears any more is asked, and "
        "what it writes is undone; a new one is asked before it has committed anything. What was "
        "acknowledged is told by all later leaders, and of what one leader told another undoes one "
        "change at most."
    ),
    takes=Takes(voters=range(3, 8), settings={"quorum": ("dynamic",)}),
    faults=_FAULTS,
    draw=_draw_changing_voters,
    default_duration_s=30.0,
    load=MembershipOptions(),
    settings={"quorum": "dynamic", "bootstrap": "3"},
)


# The survivors of a leader's death must elect a voter that one of them does not know.


_UNINFORMED_VOTER_REMOVAL = RemoveVoter(victim=RandomFollower())
_UNINFORMED_VOTER_CUT = NetworkPartition(
    victim=RandomFollower()
)  # of three nodes, the remaining voter
_UNINFORMED_VOTER_DEATH = Kill(victim=ControllerLeader())
_UNINFORMED_VOTER_SCRIPT = Script(
    steps=(
        Rest(seconds=1.5),
        Begin(name="removed", fault=_UNINFORMED_VOTER_REMOVAL),
        Rest(seconds=1.0),
        Begin(name="cut", fault=_UNINFORMED_VOTER_CUT),
        End(name="removed"),  # the leader and the returning voter are two of three
        Begin(name="dead", fault=_UNINFORMED_VOTER_DEATH),
        End(name="cut"),
        Rest(seconds=18.0),  # longer than an election may take
        End(name="dead"),
        Rest(seconds=1.0),
    )
)

UNINFORMED_VOTER = Scenario(
    name="uninformed-voter",
    summary="a voter is added while another one is cut off, and then the leader dies",
    exists_for=("V5-acknowledged-changes-stay", "durability"),
    description=(
        "Of three voters one is removed, and added again while the second is cut off: the leader "
        "and the new voter are a majority, and commit it. Then the leader dies and the second "
        "voter is back. By its own log the other one is no voter; it has to give it its vote all "
        "the same, for that log is newer than its own, or no node is ever elected (KIP-856, "
        '"Leader Election").'
    ),
    takes=Takes(voters=range(3, 4), settings={"quorum": ("dynamic",)}),
    faults=(_UNINFORMED_VOTER_REMOVAL, _UNINFORMED_VOTER_CUT, _UNINFORMED_VOTER_DEATH),
    script=_UNINFORMED_VOTER_SCRIPT,
    default_duration_s=25.0,
    settings={"quorum": "dynamic"},
)
