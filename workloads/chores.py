"""The chores by name."""

from collections.abc import Callable, Mapping

from workloads.chore import Chore, Tools
from workloads.deleting_records import DeletingRecords
from workloads.deleting_topics import DeletingTopics
from workloads.looking_up import LookingUp

CHORES: Mapping[str, Callable[[Tools], Chore]] = {
    "deleting-records": DeletingRecords,
    "deleting-topics": DeletingTopics,
    "looking-up": LookingUp,
}
