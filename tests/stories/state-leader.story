# A new leader writes down that it leads, and no vote; then LeaderChange is the first of its records.
hide draw fetch-request hang-up
disk n1 epoch=4 log=2,3
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 granted
----
n1 persist epoch=5 leader=n1
n1 leader epoch=5 leader=n1
n1 append 2 epoch=5 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=5
n1 -> n3 begin-quorum-epoch-request epoch=5
n1 flush to 3

# It resigns when no majority fetches from it.
timeout n1
----
after 2020ms:
n1 -> n2 begin-quorum-epoch-request epoch=5
n1 -> n3 begin-quorum-epoch-request epoch=5
after 3000ms:
n1 resigned epoch=5 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=5 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=5 preferred=n2,n3

# It resigns when it is to stop.
quorum 3
elect n1

shutdown n1
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3

# A higher epoch deposes it: with a leader it follows, without it looks for one.
quorum 3
elect n1

begin-quorum-epoch-request from=n2 to=n1 epoch=2
----
n1 persist epoch=2 leader=n2
n1 follower epoch=2 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=2 leader=n2

quorum 3
elect n1

vote-request from=n2 to=n1 epoch=2
----
n1 persist epoch=2
n1 unattached epoch=2
n1 -> n2 vote rejected epoch=2

quorum 3
elect n1

begin-quorum-epoch-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=3 leader=n3
----
n1 persist epoch=3 leader=n3
n1 follower epoch=3 leader=n3

# Nobody else can lead in its epoch: who says so is refused.
quorum 3
elect n1

begin-quorum-epoch-request from=n2 to=n1 epoch=1
----
n1 -> n2 begin-quorum-epoch INVALID_REQUEST (42) at the top
