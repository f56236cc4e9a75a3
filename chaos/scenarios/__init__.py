"""The stories, one module each.

`CATALOGUE` is the one place that lists them, in the order in which a reader should meet them.
"""

from chaos.scenario import Scenario
from chaos.scenarios.baseline import BASELINE
from chaos.scenarios.blackout import BLACKOUT
from chaos.scenarios.estranged_follower import ESTRANGED_FOLLOWER
from chaos.scenarios.flapping_follower import FLAPPING_FOLLOWER
from chaos.scenarios.kill_leader import KILL_LEADER
from chaos.scenarios.leader_relay import LEADER_RELAY
from chaos.scenarios.partition_leader import PARTITION_LEADER
from chaos.scenarios.power_off import POWER_OFF
from chaos.scenarios.returning_minority import RETURNING_MINORITY
from chaos.scenarios.slow_election import SLOW_ELECTION
from chaos.scenarios.swarm import SWARM

CATALOGUE: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        BASELINE,
        PARTITION_LEADER,
        KILL_LEADER,
        POWER_OFF,
        FLAPPING_FOLLOWER,
        ESTRANGED_FOLLOWER,
        LEADER_RELAY,
        RETURNING_MINORITY,
        SLOW_ELECTION,
        BLACKOUT,
        SWARM,
    )
}
