# What is for another cluster or partition is refused as a whole.
hide draw hang-up begin-quorum-epoch-request
elect n1

fetch-request from=n2 to=n1 epoch=1 cluster=another
fetch-request from=n2 to=n1 epoch=1 wrong-partition
----
n1 -> n2 fetch INCONSISTENT_CLUSTER_ID (104) at the top
n1 -> n2 fetch INVALID_REQUEST (42) at the top

# All else is refused at the partition, and tells who leads: an older epoch, a newer one,
fetch-request from=n2 to=n1 epoch=0
fetch-request from=n2 to=n1 epoch=2 log=1@1
----
n1 -> n2 fetch FENCED_LEADER_EPOCH (74) epoch=1 leader=n1
n1 -> n2 fetch UNKNOWN_LEADER_EPOCH (75) epoch=1 leader=n1

# and values that no replica has: a negative offset, no last epoch, one above its own epoch.
fetch-request from=n2 to=n1 epoch=1 log=-1@0
fetch-request from=n2 to=n1 epoch=1 log=1@-1
fetch-request from=n2 to=n1 epoch=1 log=1@2
fetch-request from=n2 to=n1 epoch=-1
----
n1 -> n2 fetch INVALID_REQUEST (42) epoch=1 leader=n1
n1 -> n2 fetch INVALID_REQUEST (42) epoch=1 leader=n1
n1 -> n2 fetch INVALID_REQUEST (42) epoch=1 leader=n1
n1 -> n2 fetch INVALID_REQUEST (42) epoch=1 leader=n1

# A leader that gave up does not serve its epoch,
timeout n1

fetch-request from=n2 to=n1 epoch=1 log=1@1
----
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n1

# nor does any other role: each names the leader that it knows.
quorum 3
fetch-request from=n2 to=n1 epoch=0
begin-quorum-epoch-request from=n3 to=n1 epoch=4
fetch-request from=n2 to=n1 epoch=4
fetch-request from=n2 to=n1 epoch=3
fetch-request from=n2 to=n1 epoch=5
----
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=0
n1 persist epoch=4 leader=n3
n1 follower epoch=4 leader=n3
n1 -> n3 begin-quorum-epoch ok epoch=4 leader=n3
n1 -> n3 fetch-request epoch=4 log=0@0 hwm=unknown
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=4 leader=n3
n1 -> n2 fetch FENCED_LEADER_EPOCH (74) epoch=4 leader=n3
n1 -> n2 fetch UNKNOWN_LEADER_EPOCH (75) epoch=4 leader=n3
