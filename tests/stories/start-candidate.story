# Who voted for itself is a candidate again, in the same epoch.
disk n1 epoch=3 voted=n1
start n1
----
n1 draw election-timeout=1360ms
n1 candidate epoch=3 voted=n1
n1 -> n2 vote-request epoch=3 log=0@0
n1 -> n3 vote-request epoch=3 log=0@0

# On another disk the vote was somebody else's.
quorum 3
disk n1 epoch=3 voted=n1:lost
start n1
vote-request from=n2 to=n1 epoch=3
vote-request from=n1:lost to=n1 epoch=3
----
n1 draw election-timeout=1360ms
n1 unattached epoch=3 voted=n1:lost
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n2 vote rejected epoch=3
n1 -> n1 vote granted epoch=3

# It is no voter any more with its new disk: it cannot stand.
quorum 3
disk n1:new epoch=3 voted=n1:new
start n1
timer n1
----
n1 unattached epoch=3 voted=n1:new
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
n1 election-timeout never
