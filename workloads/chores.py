"""The chores by name."""

from collections.abc import Callable, Mapping
from functools import partial

from workloads.altering_configs import NO_ACTION, AlteringConfigs
from workloads.asking_epochs import AskingEpochs
from workloads.chore import Chore, Tools
from workloads.committing_offsets import CommittingOffsets
from workloads.deleting_records import DeletingRecords
from workloads.deleting_topics import DeletingTopics
from workloads.joining_groups import JoiningGroups
from workloads.looking_up import LookingUp
from workloads.reshaping_topics import ReshapingTopics
from workloads.syncing_coordinators import SyncingCoordinators
from workloads.transforming import Transforming
from workloads.wire.client_metrics import Action

CHORES: Mapping[str, Callable[[Tools], Chore]] = {
    "asking-epochs": AskingEpochs,
    "committing-offsets": CommittingOffsets,
    "deleting-records": DeletingRecords,
    "deleting-topics": DeletingTopics,
    "joining-groups": JoiningGroups,
    "known-operations": partial(AlteringConfigs, action=Action.SET),
    "looking-up": LookingUp,
    "reshaping-topics": ReshapingTopics,
    "syncing-coordinators": SyncingCoordinators,
    "transforming": Transforming,
    "unknown-operations": partial(AlteringConfigs, action=NO_ACTION),
}
