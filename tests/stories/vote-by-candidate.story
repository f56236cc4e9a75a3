# A candidate has voted, for itself; it grants pre-votes.
hide draw fetch-request hang-up pre-vote-request
timeout n1
pre-vote-response from=n2 to=n1 granted

pre-vote-request from=n3 to=n1 epoch=1
vote-request from=n3 to=n1 epoch=1
----
n1 -> n3 pre-vote granted epoch=1
n1 -> n3 vote rejected epoch=1
