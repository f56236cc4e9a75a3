# Who hears BeginQuorumEpoch follows, and fetches.
hide draw hang-up
disk n1 log=1
begin-quorum-epoch-request from=n2 to=n1 epoch=3
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 -> n2 fetch-request epoch=3 log=1@1 hwm=unknown

# Said again, it changes nothing; it is no sign of life.
wait 1500ms
begin-quorum-epoch-request from=n2 to=n1 epoch=3
timer n1
----
after 1500ms:
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 500ms

# News that cannot be true is refused: an older epoch, a second leader of the epoch, a leader that is
# the node itself, or nobody. Who is no voter of ours may lead: its log is newer; where it listens
# the next answer tells.
begin-quorum-epoch-request from=n2 to=n1 epoch=2
begin-quorum-epoch-request from=n3 to=n1 epoch=3
begin-quorum-epoch-request from=n2 to=n1 epoch=4 leader=n9
begin-quorum-epoch-request from=n2 to=n1 epoch=4 leader=n1
begin-quorum-epoch-request from=n2 to=n1 epoch=4 leader=none
----
n1 -> n2 begin-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=3 leader=n2
n1 -> n3 begin-quorum-epoch INVALID_REQUEST (42) at the top
n1 persist epoch=4
n1 unattached epoch=4
n1 -> n2 begin-quorum-epoch ok epoch=4
n1 -> n2 fetch-request epoch=4 log=1@1 hwm=unknown
n1 -> n2 begin-quorum-epoch INVALID_REQUEST (42) at the top
n1 -> n2 begin-quorum-epoch INVALID_REQUEST (42) at the top

# What is for another cluster or partition is refused as a whole.
begin-quorum-epoch-request from=n2 to=n1 epoch=4 cluster=another
begin-quorum-epoch-request from=n2 to=n1 epoch=4 wrong-partition
----
n1 -> n2 begin-quorum-epoch INCONSISTENT_CLUSTER_ID (104) at the top
n1 -> n2 begin-quorum-epoch INVALID_REQUEST (42) at the top

# What is for another voter is refused after the news was heard.
begin-quorum-epoch-request from=n3 to=n1 epoch=4 voter=n1:lost
begin-quorum-epoch-request from=n3 to=n1 epoch=5 voter=n2:any
----
n1 persist epoch=4 leader=n3
n1 follower epoch=4 leader=n3
n1 -> n3 begin-quorum-epoch INVALID_VOTER_KEY (125) epoch=4 leader=n3
n1 -> n3 fetch-request epoch=4 log=1@1 hwm=unknown
n1 persist epoch=5 leader=n3
n1 follower epoch=5 leader=n3
n1 -> n3 begin-quorum-epoch INVALID_VOTER_KEY (125) epoch=5 leader=n3
n1 -> n3 fetch-request epoch=5 log=1@1 hwm=unknown

# It need not say whom it is for.
begin-quorum-epoch-request from=n2 to=n1 epoch=6 voter=n1:any
begin-quorum-epoch-request from=n2 to=n1 epoch=6 voter=none
----
n1 persist epoch=6 leader=n2
n1 follower epoch=6 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=6 leader=n2
n1 -> n2 fetch-request epoch=6 log=1@1 hwm=unknown
n1 -> n2 begin-quorum-epoch ok epoch=6 leader=n2

# A node that does not know that it is a voter follows, too.
quorum 3
disk n1:new
begin-quorum-epoch-request from=n2 to=n1 epoch=3 voter=n1:new
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
