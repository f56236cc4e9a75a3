# A prospective node grants pre-votes, and a real vote if it has not voted for another.
hide draw fetch-request hang-up pre-vote-request
disk n1 epoch=4
timeout n1

pre-vote-request from=n2 to=n1 epoch=4
vote-request from=n3 to=n1 epoch=4
vote-request from=n2 to=n1 epoch=4
----
n1 -> n2 pre-vote granted epoch=4
n1 persist epoch=4 voted=n3
n1 prospective epoch=4 voted=n3
n1 -> n3 vote granted epoch=4
n1 -> n2 vote rejected epoch=4

# What the others think of its own candidacy is asked again after it has voted.
pre-vote-response from=n2 to=n1 granted
----
n1 persist epoch=5 voted=n1
n1 candidate epoch=5 voted=n1
n1 -> n2 vote-request epoch=5 log=0@0
n1 -> n3 vote-request epoch=5 log=0@0

# While it remembers a leader of the epoch it grants no real vote.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3
timeout n1

pre-vote-request from=n3 to=n1 epoch=3
vote-request from=n3 to=n1 epoch=3
----
n1 -> n3 pre-vote granted epoch=3 leader=n2
n1 -> n3 vote rejected epoch=3 leader=n2
