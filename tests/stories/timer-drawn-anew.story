# The election time-out is drawn anew by a follower that learns of a higher epoch,
hide fetch-request hang-up begin-quorum-epoch-request
disk n1 log=1
begin-quorum-epoch-request from=n2 to=n1 epoch=2
wait 1900ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 persist epoch=2 leader=n2
n1 follower epoch=2 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=2 leader=n2
after 1900ms:
n1 draw election-timeout=1740ms
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 1740ms

# by a leader,
quorum 3
elect n1
wait 1900ms

vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 draw election-timeout=1530ms
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 1530ms

# by a prospective node that a majority has rejected,
quorum 3
disk n1 epoch=3
timeout n1
pre-vote-response from=n2 to=n1 rejected

pre-vote-response from=n3 to=n1 rejected
timer n1
----
n1 draw election-timeout=1670ms
n1 unattached epoch=3
n1 election-timeout in 1670ms

# and after a real vote was granted; not after a pre-vote, nor when the vote is repeated.
quorum 3
start n1
wait 900ms

pre-vote-request from=n2 to=n1 epoch=0
timer n1
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 -> n2 pre-vote granted epoch=0
n1 election-timeout in 460ms
n1 draw election-timeout=1740ms
n1 persist epoch=5
n1 unattached epoch=5
n1 persist epoch=5 voted=n2
n1 unattached epoch=5 voted=n2
n1 -> n2 vote granted epoch=5
n1 election-timeout in 1740ms

wait 300ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
after 300ms:
n1 -> n2 vote granted epoch=5
n1 election-timeout in 1440ms
