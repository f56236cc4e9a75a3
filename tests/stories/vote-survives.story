# The vote of an epoch survives every change of role within the epoch.
hide draw fetch-request hang-up pre-vote-request
vote-request from=n2 to=n1 epoch=3

timeout n1
vote-request from=n3 to=n1 epoch=3
----
after 1740ms:
n1 prospective epoch=3 voted=n2
n1 -> n3 vote rejected epoch=3

pre-vote-response from=n2 to=n1 rejected
pre-vote-response from=n3 to=n1 rejected
vote-request from=n3 to=n1 epoch=3
----
n1 unattached epoch=3 voted=n2
n1 -> n3 vote rejected epoch=3

timeout n1
begin-quorum-epoch-request from=n2 to=n1 epoch=3
----
after 1530ms:
n1 prospective epoch=3 voted=n2
n1 persist epoch=3 leader=n2 voted=n2
n1 follower epoch=3 leader=n2 voted=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2

timeout n1
vote-request from=n3 to=n1 epoch=3
----
after 2000ms:
n1 prospective epoch=3 leader=n2 voted=n2
n1 -> n3 vote rejected epoch=3 leader=n2

# In another epoch it is another vote.
vote-request from=n3 to=n1 epoch=4
----
n1 persist epoch=4
n1 unattached epoch=4
n1 persist epoch=4 voted=n3
n1 unattached epoch=4 voted=n3
n1 -> n3 vote granted epoch=4

# A leader writes no vote: that it leads says whom it voted for.
quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted
vote-response from=n2 to=n1 granted
----
after 1360ms:
n1 prospective epoch=4
n1 persist epoch=5 voted=n1
n1 candidate epoch=5 voted=n1
n1 -> n2 vote-request epoch=5 log=0@0
n1 -> n3 vote-request epoch=5 log=0@0
n1 persist epoch=5 leader=n1
n1 leader epoch=5 leader=n1
n1 append 0 epoch=5 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=5
n1 -> n3 begin-quorum-epoch-request epoch=5
n1 flush to 1
