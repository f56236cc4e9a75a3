# An unattached node grants pre-votes to all with a good log, and one real vote.
hide draw fetch-request hang-up
pre-vote-request from=n2 to=n1 epoch=0
pre-vote-request from=n3 to=n1 epoch=0
vote-request from=n2 to=n1 epoch=1
pre-vote-request from=n3 to=n1 epoch=1
vote-request from=n3 to=n1 epoch=1
----
n1 -> n2 pre-vote granted epoch=0
n1 -> n3 pre-vote granted epoch=0
n1 persist epoch=1
n1 unattached epoch=1
n1 persist epoch=1 voted=n2
n1 unattached epoch=1 voted=n2
n1 -> n2 vote granted epoch=1
n1 -> n3 pre-vote granted epoch=1
n1 -> n3 vote rejected epoch=1

# In an epoch whose leader it knows it grants no real vote, but still pre-votes.
quorum 3
disk n1 epoch=3 leader=n9
pre-vote-request from=n2 to=n1 epoch=3
vote-request from=n2 to=n1 epoch=3
----
n1 -> n2 pre-vote granted epoch=3 leader=n9(no address)
n1 -> n2 vote rejected epoch=3 leader=n9(no address)
