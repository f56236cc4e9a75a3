# On an empty disk a node is unattached, of epoch 0.
start n1
----
n1 draw election-timeout=1360ms
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown

# Without a leader it is unattached in the stored epoch, and keeps its vote over a power cut.
quorum 3
hide fetch-request hang-up
disk n1 epoch=3 voted=n2
start n1
vote-request from=n3 to=n1 epoch=3
----
n1 draw election-timeout=1360ms
n1 unattached epoch=3 voted=n2
n1 -> n3 vote rejected epoch=3
