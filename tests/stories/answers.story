# An answer of a higher epoch moves whoever gets it, whatever it was about: to the leader that it
# names,
hide draw fetch-request hang-up
disk n1 epoch=4
timeout n1

pre-vote-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=6 leader=n3
----
n1 persist epoch=6 leader=n3
n1 follower epoch=6 leader=n3

quorum 3
elect n1
timeout n1

end-quorum-epoch-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=6 leader=n3
----
n1 persist epoch=6 leader=n3
n1 follower epoch=6 leader=n3

# or to looking for one.
quorum 3
elect n1

begin-quorum-epoch-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=6
----
n1 persist epoch=6
n1 unattached epoch=6

quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=4

fetch-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=6 leader=none records=6 hwm=1
----
n1 persist epoch=6
n1 unattached epoch=6

# One of an older epoch is not heard.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=4

fetch-response from=n2 to=n1 epoch=3 leader=n3 records=3 hwm=1
----

# Answers carry the leader and its address, where they are known, with errors and without.
quorum 3
vote-request from=n2 to=n1 epoch=4
fetch-request from=n2 to=n1 epoch=4
begin-quorum-epoch-request from=n3 to=n1 epoch=4
fetch-request from=n2 to=n1 epoch=4
vote-request from=n2 to=n1 epoch=3
----
n1 persist epoch=4
n1 unattached epoch=4
n1 persist epoch=4 voted=n2
n1 unattached epoch=4 voted=n2
n1 -> n2 vote granted epoch=4
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=4
n1 persist epoch=4 leader=n3 voted=n2
n1 follower epoch=4 leader=n3 voted=n2
n1 -> n3 begin-quorum-epoch ok epoch=4 leader=n3
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=4 leader=n3
n1 -> n2 vote FENCED_LEADER_EPOCH (74) epoch=4 leader=n3

# A leader without an address is named all the same.
quorum 3
disk n1 epoch=3 leader=n9
vote-request from=n2 to=n1 epoch=2
----
n1 -> n2 vote FENCED_LEADER_EPOCH (74) epoch=3 leader=n9(no address)
