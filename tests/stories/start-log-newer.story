# A log that knows a higher epoch than quorum-state gives the epoch; there is no vote in it.
disk n1 epoch=3 leader=n2 voted=n3 log=1,4
start n1
----
n1 draw election-timeout=1360ms
n1 persist epoch=4
n1 unattached epoch=4
n1 flush to 2
n1 -> n3 fetch-request epoch=4 log=2@4 hwm=unknown
