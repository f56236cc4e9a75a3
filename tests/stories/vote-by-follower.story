# A follower never grants a real vote. It grants pre-votes only until it has fetched from its leader:
# then it knows that the leader is there.
hide draw fetch-request hang-up
begin-quorum-epoch-request from=n2 to=n1 epoch=3

pre-vote-request from=n3 to=n1 epoch=3
vote-request from=n3 to=n1 epoch=3
----
n1 -> n3 pre-vote granted epoch=3 leader=n2
n1 -> n3 vote rejected epoch=3 leader=n2

fetch-response from=n2 to=n1
pre-vote-request from=n3 to=n1 epoch=3
vote-request from=n3 to=n1 epoch=3
----
n1 -> n3 pre-vote rejected epoch=3 leader=n2
n1 -> n3 vote rejected epoch=3 leader=n2

# A Fetch that was refused is no success.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 UNKNOWN_LEADER_EPOCH
pre-vote-request from=n3 to=n1 epoch=3
----
n1 -> n3 pre-vote granted epoch=3 leader=n2
