"""The scenarios; a module holds those of one theme.

    quorum.py         faults of the quorum's leader, followers and links; the run without faults
    disks.py          power failures and lost disks of voters and brokers
    voters.py         changes of the voters
    kafka_quorum.py   quorums of Apache Kafka: elections, lost disks, controllers that are hurt
    kafka_voters.py   changes of the voters in quorums of Apache Kafka
    swarm.py          quorums, faults and loads drawn from a seed
    releases.py       quorums of our own nodes and Apache Kafka's controllers
    brokers.py        faults of brokers, and of partition leaders
    fencing.py        brokers that the controllers do not hear; silent controllers
    elr.py            eligible leader replicas (KIP-966)
    unclean_recovery.py  unclean recovery: logs are compared, or an operator decides (KIP-966)
    operators.py      what operators change under partitions
    logs.py           replicas on disks: power failures, deletion, compaction, moves
    transactions.py   transactions
    swarm_brokers.py  clusters of brokers, faults and loads drawn from a seed
    loads.py          the loads, settings and expectations that scenarios share
    controls.py       controls: runs that must be invalid, or the harness is blind

`SCENARIOS` lists them all, in the order in which a reader should meet them: those of quorums
(`CONTROLLER_SCENARIOS`), of a quorum of both kinds of nodes, and of brokers.
"""

from chaos.scenario import Scenario
from chaos.scenarios.brokers import (
    BLACKOUT_BROKERS,
    CONTROLLED_SHUTDOWN_ROLL,
    ISR_SHRINK_STORM,
    LATE_ANSWER,
    MANY_PARTITIONS,
    PARTITION_BROKERS,
    POWER_OFF_BROKERS,
    ROLL_WHILE_MOVING,
    SLOW_ROLL,
    STRANDED_COORDINATOR,
    STRANDED_LEADER,
)
from chaos.scenarios.disks import (
    BLACKOUT,
    DISK_LOSS,
    DISK_LOSS_MAJORITY,
    FORMAT_POWER_OFF,
    OBSERVER_POWER_OFF,
    POWER_OFF,
    REFORMAT_FORGETS,
    REFORMAT_IGNORED,
    SNAPSHOT_CATCH_UP,
)
from chaos.scenarios.elr import (
    ALL_UNCLEAN,
    DEGRADED_LEADER,
    ELR_WIPED,
    FENCED_LAST_LEADER,
    HWM_UNDER_MIN_ISR,
    LAST_REPLICA_STANDING,
    UNCLEAN_LEADER,
    UNCLEAN_LEADER_REGISTERED,
)
from chaos.scenarios.fencing import (
    FENCED_REJOIN,
    HEARTBEAT_CUT,
    HELD_UP_CONTROLLER,
    LOST_TOGETHER,
    SILENT_CONTROLLER,
    UNWAITED_TOPICS,
)
from chaos.scenarios.kafka_quorum import (
    AUTO_JOIN,
    BOOTSTRAP_RACE,
    LONE_CONTROLLER,
    LOST_OBSERVER,
    UNKNOWN_OPERATION,
)
from chaos.scenarios.kafka_voters import (
    REMOVED_CANDIDATE,
    REMOVED_LEADER,
    UNREACHABLE_VOTER,
    VOTING_BROKER,
)
from chaos.scenarios.logs import (
    CLEAN_STOP_POWER_OFF,
    CLEAN_STOP_THEN_LEAD,
    GHOST_TOPIC,
    LOST_TIMESTAMPS,
    MOVED_REPLICA,
    MOVED_REPLICAS,
    UNDELETED_RECORDS,
)
from chaos.scenarios.operators import (
    DIFFERING_MIN_ISR,
    ELR_DOWNGRADE,
    ELR_UPGRADE,
    ELR_UPGRADE_BELOW,
    RAISED_MIN_ISR,
    REASSIGN_UNDER_FIRE,
    STRANDED_PARTITION,
)
from chaos.scenarios.quorum import (
    BASELINE,
    ESTRANGED_FOLLOWER,
    FLAPPING_FOLLOWER,
    FRESH_LEADER,
    HAND_OVER,
    KILL_LEADER,
    LAGGARD,
    LEADER_RELAY,
    MINORITY_OF_TWO,
    PARTITION_LEADER,
    RETURNING_MINORITY,
    SLOW_ELECTION,
)
from chaos.scenarios.releases import MIXED_BROKER, MIXED_QUORUM, MIXED_STATIC
from chaos.scenarios.swarm import SWARM
from chaos.scenarios.swarm_brokers import SWARM_BROKERS
from chaos.scenarios.transactions import (
    HANGING_TRANSACTION,
    REMEMBERED_COMMIT,
    TRANSFORM_EXACTLY_ONCE,
)
from chaos.scenarios.unclean_recovery import (
    DESIGNATED_LEADER,
    OLDER_LOG,
    RECOVERY_INTERRUPTED,
    UNCLEAN_RECOVERY,
)
from chaos.scenarios.voters import (
    BOOTSTRAP,
    CHANGING_VOTERS,
    MEMBERSHIP_CHURN,
    REMOVE_LEADER,
    REMOVE_LEADER_DIRECTORY,
    UNINFORMED_VOTER,
)

CONTROLLER_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        BASELINE,
        PARTITION_LEADER,
        KILL_LEADER,
        HAND_OVER,
        POWER_OFF,
        FLAPPING_FOLLOWER,
        ESTRANGED_FOLLOWER,
        LEADER_RELAY,
        RETURNING_MINORITY,
        MINORITY_OF_TWO,
        SLOW_ELECTION,
        FRESH_LEADER,
        BLACKOUT,
        BOOTSTRAP,
        LAGGARD,
        SNAPSHOT_CATCH_UP,
        DISK_LOSS,
        DISK_LOSS_MAJORITY,
        REFORMAT_IGNORED,
        REMOVE_LEADER,
        REMOVE_LEADER_DIRECTORY,
        MEMBERSHIP_CHURN,
        CHANGING_VOTERS,
        UNINFORMED_VOTER,
        SWARM,
    )
}

# Scenarios of brokers and their logs, for targets that have brokers.
BROKER_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        LAST_REPLICA_STANDING,
        UNCLEAN_LEADER_REGISTERED,
        ELR_DOWNGRADE,
        ELR_UPGRADE,
        ELR_UPGRADE_BELOW,
        RAISED_MIN_ISR,
        STRANDED_PARTITION,
        DIFFERING_MIN_ISR,
        DEGRADED_LEADER,
        ALL_UNCLEAN,
        UNCLEAN_RECOVERY,
        OLDER_LOG,
        DESIGNATED_LEADER,
        RECOVERY_INTERRUPTED,
        REFORMAT_FORGETS,
        FORMAT_POWER_OFF,
        OBSERVER_POWER_OFF,
        CLEAN_STOP_POWER_OFF,
        CLEAN_STOP_THEN_LEAD,
        MOVED_REPLICA,
        MOVED_REPLICAS,
        LONE_CONTROLLER,
        LOST_OBSERVER,
        ELR_WIPED,
        HANGING_TRANSACTION,
        REMEMBERED_COMMIT,
        TRANSFORM_EXACTLY_ONCE,
        LOST_TIMESTAMPS,
        GHOST_TOPIC,
        UNDELETED_RECORDS,
        UNKNOWN_OPERATION,
        FENCED_LAST_LEADER,
        FENCED_REJOIN,
        HEARTBEAT_CUT,
        HWM_UNDER_MIN_ISR,
        POWER_OFF_BROKERS,
        BLACKOUT_BROKERS,
        PARTITION_BROKERS,
        ISR_SHRINK_STORM,
        STRANDED_LEADER,
        STRANDED_COORDINATOR,
        CONTROLLED_SHUTDOWN_ROLL,
        SLOW_ROLL,
        MANY_PARTITIONS,
        ROLL_WHILE_MOVING,
        REASSIGN_UNDER_FIRE,
        LATE_ANSWER,
        LOST_TOGETHER,
        HELD_UP_CONTROLLER,
        UNCLEAN_LEADER,
        SILENT_CONTROLLER,
        UNREACHABLE_VOTER,
        VOTING_BROKER,
        BOOTSTRAP_RACE,
        REMOVED_CANDIDATE,
        REMOVED_LEADER,
        AUTO_JOIN,
        UNWAITED_TOPICS,
        SWARM_BROKERS,
    )
}

# Scenarios of one quorum of our nodes and Apache Kafka's controllers.
MIXED_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for scenario in (MIXED_QUORUM, MIXED_STATIC, MIXED_BROKER)
}

SCENARIOS = CONTROLLER_SCENARIOS | MIXED_SCENARIOS | BROKER_SCENARIOS
