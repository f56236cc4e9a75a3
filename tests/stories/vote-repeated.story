# Asked again by the one it has voted for, a node says yes again, unless that has lost records since
# and its log is older than the node's own.
hide draw fetch-request hang-up
disk n1 epoch=5 voted=n2 log=1,1,1
start n1

vote-request from=n2 to=n1 epoch=5 log=3@1
vote-request from=n2 to=n1 epoch=5 log=1@1
----
n1 -> n2 vote granted epoch=5
n1 -> n2 vote rejected epoch=5

# The same node with another disk is another candidate.
vote-request from=n2:spare to=n1 epoch=5 log=3@1
vote-request from=n3 to=n1 epoch=5 log=9@4
----
n1 -> n2 vote rejected epoch=5
n1 -> n3 vote rejected epoch=5

# It is said again by a prospective node, too; a pre-vote is no repetition.
timeout n1
vote-request from=n2 to=n1 epoch=5 log=3@1
pre-vote-request from=n2 to=n1 epoch=5 log=1@1
----
after 1360ms:
n1 prospective epoch=5 voted=n2
n1 -> n2 pre-vote-request epoch=5 log=3@1
n1 -> n3 pre-vote-request epoch=5 log=3@1
n1 -> n2 vote granted epoch=5
n1 -> n2 pre-vote rejected epoch=5
