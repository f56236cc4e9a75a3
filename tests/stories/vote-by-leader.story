# A leader grants nothing.
hide draw fetch-request hang-up
elect n1

pre-vote-request from=n2 to=n1 epoch=1 log=9@1
vote-request from=n2 to=n1 epoch=1
----
n1 -> n2 pre-vote rejected epoch=1 leader=n1
n1 -> n2 vote rejected epoch=1 leader=n1
