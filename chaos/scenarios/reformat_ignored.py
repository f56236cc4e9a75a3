"""KIP-856's motivation on a quorum alone: two disks that are formatted anew forget what was
committed, where directory ids are ignored."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.victims import AllFollowers, ControllerLeader
from chaos.scenario import Scenario, Side, Takes
from chaos.scenarios.loads import AS_PROMISED, SEE_FORGOTTEN_LOG
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_WIPED, _AWAY = Wipe(victim=AllFollowers()), Kill(victim=ControllerLeader())
# Of all the time; an election among those that are back takes less than the leader is away.
_AT, _AWAY_AFTER, _WIPED_FOR, _AWAY_FOR = (0.16, 0.24), 0.02, 0.1, 0.36


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """Both followers' disks, and then the leader is off until long after they are back."""
    del nodes
    at = rng.uniform(*_AT)

    def window(begin: float, hold: float, fault: Fault) -> Window:
        at_s, hold_s = round(begin * duration_s, 3), round(hold * duration_s, 3)
        return Window(at_s=at_s, hold_s=hold_s, fault=fault)

    windows = (window(at, _WIPED_FOR, _WIPED), window(at + _AWAY_AFTER, _AWAY_FOR, _AWAY))
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
    faults=(_WIPED, _AWAY),
    draw=_draw,
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
