# A higher epoch is adopted even from a pre-vote, and even from one who does not get the vote.
hide draw fetch-request hang-up
disk n1 epoch=3 log=1,1
pre-vote-request from=n2 to=n1 epoch=5 log=2@1
pre-vote-request from=n2 to=n1 epoch=7
vote-request from=n2 to=n1 epoch=9
----
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 pre-vote granted epoch=5
n1 persist epoch=7
n1 unattached epoch=7
n1 -> n2 pre-vote rejected epoch=7
n1 persist epoch=9
n1 unattached epoch=9
n1 -> n2 vote rejected epoch=9
