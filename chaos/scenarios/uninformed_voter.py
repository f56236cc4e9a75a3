"""The survivors of a leader's death must elect a voter that one of them does not know."""

from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.voters import RemoveVoter
from chaos.nemesis.script import Begin, End, Rest, Script
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import Scenario, Takes

_REMOVAL = RemoveVoter(victim=RandomFollower())
_CUT = NetworkPartition(victim=RandomFollower())  # of three nodes, the voter that is left
_DEATH = Kill(victim=ControllerLeader())
_SCRIPT = Script(
    steps=(
        Rest(seconds=1.5),
        Begin(name="removed", fault=_REMOVAL),
        Rest(seconds=1.0),
        Begin(name="cut", fault=_CUT),
        End(name="removed"),  # the leader and the voter that comes back are two of three
        Begin(name="dead", fault=_DEATH),
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
    faults=(_REMOVAL, _CUT, _DEATH),
    script=_SCRIPT,
    default_duration_s=25.0,
    settings={"quorum": "dynamic"},
)
