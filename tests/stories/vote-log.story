# A vote, or a pre-vote, is for a log that is at least as new: of a higher epoch, or as long.
hide draw fetch-request hang-up persist state
disk n1 epoch=2 log=1,2
vote-request from=n2 to=n1 epoch=3 log=2@2
vote-request from=n2 to=n1 epoch=4 log=3@2
vote-request from=n2 to=n1 epoch=5 log=1@3
vote-request from=n2 to=n1 epoch=6 log=1@2
vote-request from=n2 to=n1 epoch=7 log=9@1
----
n1 -> n2 vote granted epoch=3
n1 -> n2 vote granted epoch=4
n1 -> n2 vote granted epoch=5
n1 -> n2 vote rejected epoch=6
n1 -> n2 vote rejected epoch=7

pre-vote-request from=n2 to=n1 epoch=7 log=2@2
pre-vote-request from=n2 to=n1 epoch=7 log=1@2
pre-vote-request from=n2 to=n1 epoch=7 log=9@1
----
n1 -> n2 pre-vote granted epoch=7
n1 -> n2 pre-vote rejected epoch=7
n1 -> n2 pre-vote rejected epoch=7
