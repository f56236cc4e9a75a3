# A leader that resigned grants pre-votes, to a good log, and no real vote in its epoch.
hide draw fetch-request hang-up
elect n1
timeout n1

pre-vote-request from=n2 to=n1 epoch=1 log=1@1
pre-vote-request from=n2 to=n1 epoch=1 log=0@0
vote-request from=n2 to=n1 epoch=1
----
n1 -> n2 pre-vote granted epoch=1 leader=n1
n1 -> n2 pre-vote rejected epoch=1 leader=n1
n1 -> n2 vote rejected epoch=1 leader=n1
