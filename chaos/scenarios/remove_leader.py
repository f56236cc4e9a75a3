"""The leader is removed from the voters, and another leads; in both forms of a quorum.

Where voters are listed (KIP-856) no node is without a vote for good: of a leader's node one
directory is removed, that by which it leads, while another one is a voter.
"""

import random

from chaos.nemesis.kinds.cuts import PartialPartition
from chaos.nemesis.kinds.voters import LoseDisk, LostVoter, RemoveLeadingDirectory, RemoveVoter
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.script import Begin, End, Rest, Script, UntilLed
from chaos.nemesis.victims import ControllerLeader, VotersByOneDisk
from chaos.scenario import Scenario, Takes

_SLOT_S = 10.0
_REMOVAL = RemoveVoter(victim=ControllerLeader())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    faults = [_REMOVAL] * max(1, round(duration_s / _SLOT_S))
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
    faults=(_REMOVAL,),
    draw=_draw,
    settings={"quorum": "dynamic"},
)

_SCRIPT = Script(
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=20.0,
)
