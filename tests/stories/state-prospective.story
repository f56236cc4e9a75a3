# A prospective node asks, in the epoch that it is in, whether others would vote for it. Nothing of
# that is written down.
hide fetch-request hang-up
disk n1 epoch=4 log=2,3
timeout n1
----
after 1360ms:
n1 draw election-timeout=1740ms
n1 prospective epoch=4
n1 -> n2 pre-vote-request epoch=4 log=2@3
n1 -> n3 pre-vote-request epoch=4 log=2@3

# One of two is a majority with itself: it stands, in the next epoch.
pre-vote-response from=n3 to=n1 granted
----
n1 draw election-timeout=1670ms
n1 persist epoch=5 voted=n1
n1 candidate epoch=5 voted=n1
n1 -> n2 vote-request epoch=5 log=2@3
n1 -> n3 vote-request epoch=5 log=2@3

# Rejected by a majority, it looks for a leader again, and waits another time-out.
quorum 3
disk n1 epoch=4
timeout n1

pre-vote-response from=n2 to=n1 rejected
----

pre-vote-response from=n3 to=n1 rejected
----
n1 draw election-timeout=1670ms
n1 unattached epoch=4

# Rejected by a majority while it knows a leader, it goes back to following it.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=4
timeout n1
wait 20ms
----
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2
after 2000ms:
n1 draw election-timeout=1740ms
n1 prospective epoch=4 leader=n2
n1 -> n3 pre-vote-request epoch=4 log=0@0
after 2020ms:
n1 -> n2 pre-vote-request epoch=4 log=0@0

pre-vote-response from=n3 to=n1 rejected leader=n2
pre-vote-response from=n2 to=n1 rejected leader=n2
----
n1 follower epoch=4 leader=n2

# When nobody answers, it is unattached for a moment and asks again; its epoch stays.
quorum 3
hide draw fetch-request hang-up
disk n1 epoch=4
timeout n1
timeout n1
----
after 1360ms:
n1 prospective epoch=4
n1 -> n2 pre-vote-request epoch=4 log=0@0
n1 -> n3 pre-vote-request epoch=4 log=0@0
after 3100ms:
n1 unattached epoch=4
n1 prospective epoch=4

# When nobody answers and it knows a leader, it tries that one again first.
quorum 3
hide draw hang-up pre-vote-request
begin-quorum-epoch-request from=n2 to=n1 epoch=4
timeout n1
timeout n1
----
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2
n1 -> n2 fetch-request epoch=4 log=0@0 hwm=unknown
after 2000ms:
n1 prospective epoch=4 leader=n2
after 3740ms:
n1 follower epoch=4 leader=n2
n1 -> n2 fetch-request epoch=4 log=0@0 hwm=unknown

# A leader of its epoch, or of a higher one, is followed when it speaks up or somebody tells of it.
quorum 3
hide draw hang-up fetch-request pre-vote-request
disk n1 epoch=4
timeout n1

begin-quorum-epoch-request from=n2 to=n1 epoch=4
----
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2

quorum 3
disk n1 epoch=4
timeout n1

pre-vote-response from=n2 to=n1 rejected leader=n3
----
n1 persist epoch=4 leader=n3
n1 follower epoch=4 leader=n3

quorum 3
disk n1 epoch=4
timeout n1

begin-quorum-epoch-request from=n2 to=n1 epoch=6
----
n1 persist epoch=6 leader=n2
n1 follower epoch=6 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=6 leader=n2

quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=4
timeout n1

begin-quorum-epoch-request from=n2 to=n1 epoch=4
----
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2

# A higher epoch without a leader makes it unattached.
quorum 3
disk n1 epoch=4
timeout n1

pre-vote-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=6
----
n1 persist epoch=6
n1 unattached epoch=6

# It may hold a real vote, and may cast one.
quorum 3
disk n1 epoch=4 voted=n2
timeout n1
vote-request from=n3 to=n1 epoch=4
vote-request from=n2 to=n1 epoch=4
----
after 1360ms:
n1 prospective epoch=4 voted=n2
n1 -> n3 vote rejected epoch=4
n1 -> n2 vote granted epoch=4

quorum 3
hide fetch-request hang-up
disk n1 epoch=4
timeout n1
vote-request from=n3 to=n1 epoch=4
timer n1
----
after 1360ms:
n1 draw election-timeout=1740ms
n1 prospective epoch=4
n1 -> n2 pre-vote-request epoch=4 log=0@0
n1 -> n3 pre-vote-request epoch=4 log=0@0
n1 draw election-timeout=1670ms
n1 persist epoch=4 voted=n3
n1 prospective epoch=4 voted=n3
n1 -> n3 vote granted epoch=4
n1 election-timeout in 1670ms
