# A candidate votes for itself in the next epoch, and writes that down before it asks anybody.
hide fetch-request hang-up
disk n1 epoch=4
timeout n1

pre-vote-response from=n2 to=n1 granted
----
n1 draw election-timeout=1670ms
n1 persist epoch=5 voted=n1
n1 candidate epoch=5 voted=n1
n1 -> n2 vote-request epoch=5 log=0@0
n1 -> n3 vote-request epoch=5 log=0@0

# A majority makes it leader.
vote-response from=n3 to=n1 granted
----
n1 persist epoch=5 leader=n1
n1 leader epoch=5 leader=n1
n1 append 0 epoch=5 leader-change n1 of n1,n2,n3 granted-by=n1,n3
n1 -> n2 begin-quorum-epoch-request epoch=5
n1 -> n3 begin-quorum-epoch-request epoch=5
n1 flush to 1

# After a loss it waits out its timer, and asks for pre-votes again; its epoch stays.
quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 rejected
vote-response from=n3 to=n1 rejected
timer n1
----
n1 election-timeout in 1670ms

timeout n1
----
after 1670ms:
n1 draw election-timeout=1530ms
n1 prospective epoch=5 voted=n1
n1 -> n2 pre-vote-request epoch=5 log=0@0
n1 -> n3 pre-vote-request epoch=5 log=0@0

# So it does when nobody answers.
quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

timeout n1
----
after 1670ms:
n1 draw election-timeout=1530ms
n1 prospective epoch=5 voted=n1
n1 -> n2 pre-vote-request epoch=5 log=0@0
n1 -> n3 pre-vote-request epoch=5 log=0@0

# It follows a leader of its own epoch when it learns of one, and still knows whom it voted for.
quorum 3
hide draw fetch-request hang-up
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

begin-quorum-epoch-request from=n3 to=n1 epoch=5
----
n1 persist epoch=5 leader=n3 voted=n1
n1 follower epoch=5 leader=n3 voted=n1
n1 -> n3 begin-quorum-epoch ok epoch=5 leader=n3

quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 rejected leader=n3
----
n1 persist epoch=5 leader=n3 voted=n1
n1 follower epoch=5 leader=n3 voted=n1

# A higher epoch ends its candidacy.
quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=8
----
n1 persist epoch=8
n1 unattached epoch=8

quorum 3
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=8 leader=n2
----
n1 persist epoch=8 leader=n2
n1 follower epoch=8 leader=n2

# Late pre-votes are no votes.
quorum 5
disk n1 epoch=4
timeout n1
pre-vote-response from=n2 to=n1 granted
pre-vote-response from=n3 to=n1 granted

pre-vote-response from=n4 to=n1 granted epoch=5
pre-vote-response from=n5 to=n1 granted epoch=5
----
