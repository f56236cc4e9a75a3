# A stored leader that has an address is followed at once; the vote is remembered.
disk n1 epoch=3 leader=n2 voted=n3 log=1
start n1
timer n1
----
n1 follower epoch=3 leader=n2 voted=n3
n1 flush to 1
n1 -> n2 fetch-request epoch=3 log=1@1 hwm=unknown
n1 fetch-timeout in 2000ms

# One that is no voter has no address; no other vote is granted in its epoch.
quorum 3
disk n1 epoch=3 leader=n9
start n1
vote-request from=n2 to=n1 epoch=3
----
n1 draw election-timeout=1360ms
n1 unattached epoch=3 leader=n9
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n2 vote rejected epoch=3 leader=n9(no address)
