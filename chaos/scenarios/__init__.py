"""The scenarios, one module each.

`SCENARIOS` is the one place that lists them, in the order in which a reader should meet them: those
of quorums (`CONTROLLER_SCENARIOS`), of a quorum of both kinds of nodes, and of brokers.
"""

from chaos.scenario import Scenario
from chaos.scenarios.all_unclean import ALL_UNCLEAN
from chaos.scenarios.auto_join import AUTO_JOIN
from chaos.scenarios.baseline import BASELINE
from chaos.scenarios.blackout import BLACKOUT
from chaos.scenarios.bootstrap import BOOTSTRAP
from chaos.scenarios.bootstrap_race import BOOTSTRAP_RACE
from chaos.scenarios.changing_voters import CHANGING_VOTERS
from chaos.scenarios.clean_stop_power_off import CLEAN_STOP_POWER_OFF, CLEAN_STOP_THEN_LEAD
from chaos.scenarios.controlled_shutdown_roll import CONTROLLED_SHUTDOWN_ROLL, SLOW_ROLL
from chaos.scenarios.disk_loss import DISK_LOSS
from chaos.scenarios.disk_loss_majority import DISK_LOSS_MAJORITY
from chaos.scenarios.elr_downgrade import ELR_DOWNGRADE
from chaos.scenarios.elr_wiped import ELR_WIPED
from chaos.scenarios.estranged_follower import ESTRANGED_FOLLOWER
from chaos.scenarios.fenced_last_leader import FENCED_LAST_LEADER
from chaos.scenarios.fenced_rejoin import FENCED_REJOIN
from chaos.scenarios.flapping_follower import FLAPPING_FOLLOWER
from chaos.scenarios.format_power_off import FORMAT_POWER_OFF
from chaos.scenarios.fresh_leader import FRESH_LEADER
from chaos.scenarios.ghost_topic import GHOST_TOPIC
from chaos.scenarios.hand_over import HAND_OVER
from chaos.scenarios.hanging_transaction import HANGING_TRANSACTION, REMEMBERED_COMMIT
from chaos.scenarios.heartbeat_cut import HEARTBEAT_CUT
from chaos.scenarios.held_up_controller import HELD_UP_CONTROLLER
from chaos.scenarios.hwm_under_min_isr import HWM_UNDER_MIN_ISR
from chaos.scenarios.isr_shrink_storm import ISR_SHRINK_STORM
from chaos.scenarios.kill_leader import KILL_LEADER
from chaos.scenarios.laggard import LAGGARD
from chaos.scenarios.last_replica_standing import LAST_REPLICA_STANDING
from chaos.scenarios.late_answer import LATE_ANSWER
from chaos.scenarios.leader_relay import LEADER_RELAY
from chaos.scenarios.lone_controller import LONE_CONTROLLER
from chaos.scenarios.lost_observer import LOST_OBSERVER
from chaos.scenarios.lost_timestamps import LOST_TIMESTAMPS
from chaos.scenarios.lost_together import LOST_TOGETHER
from chaos.scenarios.membership_churn import MEMBERSHIP_CHURN
from chaos.scenarios.minority_of_two import MINORITY_OF_TWO
from chaos.scenarios.mixed_quorum import MIXED_BROKER, MIXED_QUORUM, MIXED_STATIC
from chaos.scenarios.moved_replica import MOVED_REPLICA, MOVED_REPLICAS
from chaos.scenarios.observer_power_off import OBSERVER_POWER_OFF
from chaos.scenarios.partition_brokers import PARTITION_BROKERS
from chaos.scenarios.partition_leader import PARTITION_LEADER
from chaos.scenarios.power_off import POWER_OFF
from chaos.scenarios.power_off_brokers import BLACKOUT_BROKERS, POWER_OFF_BROKERS
from chaos.scenarios.reformat_forgets import REFORMAT_FORGETS
from chaos.scenarios.reformat_ignored import REFORMAT_IGNORED
from chaos.scenarios.remove_leader import REMOVE_LEADER, REMOVE_LEADER_DIRECTORY
from chaos.scenarios.removed_candidate import REMOVED_CANDIDATE
from chaos.scenarios.removed_leader import REMOVED_LEADER
from chaos.scenarios.returning_minority import RETURNING_MINORITY
from chaos.scenarios.roll_while_moving import ROLL_WHILE_MOVING
from chaos.scenarios.silent_controller import SILENT_CONTROLLER
from chaos.scenarios.slow_election import SLOW_ELECTION
from chaos.scenarios.snapshot_catch_up import SNAPSHOT_CATCH_UP
from chaos.scenarios.stranded_coordinator import STRANDED_COORDINATOR
from chaos.scenarios.stranded_leader import STRANDED_LEADER
from chaos.scenarios.swarm import SWARM
from chaos.scenarios.swarm_brokers import SWARM_BROKERS
from chaos.scenarios.transform_exactly_once import TRANSFORM_EXACTLY_ONCE
from chaos.scenarios.unclean_leader import UNCLEAN_LEADER
from chaos.scenarios.unclean_leader_registered import UNCLEAN_LEADER_REGISTERED
from chaos.scenarios.undeleted_records import UNDELETED_RECORDS
from chaos.scenarios.uninformed_voter import UNINFORMED_VOTER
from chaos.scenarios.unknown_operation import UNKNOWN_OPERATION
from chaos.scenarios.unreachable_voter import UNREACHABLE_VOTER
from chaos.scenarios.unwaited_topics import UNWAITED_TOPICS
from chaos.scenarios.voting_broker import VOTING_BROKER

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

# Of brokers and their logs: for targets that have such.
BROKER_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        LAST_REPLICA_STANDING,
        UNCLEAN_LEADER_REGISTERED,
        ELR_DOWNGRADE,
        ALL_UNCLEAN,
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
        ROLL_WHILE_MOVING,
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

# Of one quorum of our nodes and Apache Kafka's controllers.
MIXED_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for scenario in (MIXED_QUORUM, MIXED_STATIC, MIXED_BROKER)
}

SCENARIOS = CONTROLLER_SCENARIOS | MIXED_SCENARIOS | BROKER_SCENARIOS
