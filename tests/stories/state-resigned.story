# A leader that resigned waits out an election time-out and goes on in the next epoch, where it is
# nobody's follower: it asks for pre-votes at once.
hide fetch-request hang-up
elect n1
timeout n1

timeout n1
----
after 1060ms:
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
after 1530ms:
n1 draw election-timeout=1490ms
n1 persist epoch=2
n1 unattached epoch=2
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=1@1
n1 -> n3 pre-vote-request epoch=2 log=1@1

# A higher epoch takes it along before.
quorum 3
hide draw fetch-request hang-up
elect n1
timeout n1

vote-request from=n2 to=n1 epoch=2
----
n1 persist epoch=2
n1 unattached epoch=2
n1 -> n2 vote rejected epoch=2

quorum 3
elect n1
timeout n1

begin-quorum-epoch-request from=n2 to=n1 epoch=3
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2

# In its own epoch it is asked in vain: it votes for nobody, and serves no records.
quorum 3
elect n1
timeout n1

vote-request from=n2 to=n1 epoch=1 log=1@1
vote-request from=n2 to=n1 epoch=1
fetch-request from=n2 to=n1 epoch=1 log=1@1
----
n1 -> n2 vote INVALID_REQUEST (42) epoch=1 leader=n1
n1 -> n2 vote rejected epoch=1 leader=n1
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n1
