"""The topics that are spoken of.

`KEPT` ones hold records, and who leads them was said when they were created; they are never deleted
nor changed. `MOVED` is one of which replicas move and leaders are elected. `CHURNED` ones come and
go, and hold nothing: their replicas are wherever a controller put them.
"""

from collections.abc import Mapping
from uuid import UUID

BROKERS = (1, 2, 3)
OFFSETS = "__consumer_offsets"
OFFSETS_LED_BY = 1
# By name: the replicas of each partition, the leader first.
Replicas = Mapping[str, tuple[tuple[int, ...], ...]]
KEPT: Replicas = {
    "one": ((1,), (2,), (3,)),
    "all": ((1, 2, 3), (2, 3, 1)),
    "few": ((1,),),  # fewer replicas than its min.insync.replicas
}
MOVED: Replicas = {"moved": ((1, 2), (2, 3))}
CHURNED = ("a", "b", "c", "d", "a.b", "a_b")
NO_NODE = UUID(int=77)  # no topic has this id
