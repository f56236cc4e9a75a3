# A follower fetches from its leader.
hide draw hang-up
disk n1 epoch=3 log=1,3
begin-quorum-epoch-request from=n2 to=n1 epoch=4
----
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2
n1 -> n2 fetch-request epoch=4 log=2@3 hwm=unknown

# When nothing came for the fetch time-out, it asks for pre-votes.
timeout n1
----
after 2000ms:
n1 prospective epoch=4 leader=n2
n1 -> n3 pre-vote-request epoch=4 log=2@3

# A leader of a higher epoch is followed instead.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=4

begin-quorum-epoch-request from=n3 to=n1 epoch=5
----
n1 persist epoch=5 leader=n3
n1 follower epoch=5 leader=n3
n1 -> n3 begin-quorum-epoch ok epoch=5 leader=n3
n1 -> n3 fetch-request epoch=5 log=0@0 hwm=unknown

fetch-response from=n3 to=n1 FENCED_LEADER_EPOCH epoch=6 leader=n2
----
n1 persist epoch=6 leader=n2
n1 follower epoch=6 leader=n2
n1 -> n2 fetch-request epoch=6 log=0@0 hwm=unknown

# A higher epoch without a leader makes it unattached.
vote-request from=n3 to=n1 epoch=7
----
n1 persist epoch=7
n1 unattached epoch=7
n1 persist epoch=7 voted=n3
n1 unattached epoch=7 voted=n3
n1 -> n3 vote granted epoch=7
n1 -> n2 fetch-request epoch=7 log=0@0 hwm=unknown
