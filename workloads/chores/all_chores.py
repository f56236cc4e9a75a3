"""The chores by name."""

from collections.abc import Callable, Mapping
from functools import partial

from workloads.chores.chore import Chore, Tools
from workloads.chores.groups import CommittingOffsets, JoiningGroups, SyncingCoordinators
from workloads.chores.records import AskingEpochs, DeletingRecords, LookingUp
from workloads.chores.topics import (
    NO_ACTION,
    AlteringConfigs,
    DeletingTopics,
    ReshapingTopics,
)
from workloads.chores.transforming import Transforming
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
