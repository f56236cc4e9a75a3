# A voter casts one vote per epoch and remembers it across a power-off.
hide fetch-request hang-up

vote-request from=n2 to=n1 epoch=5
----
n1 draw election-timeout=1740ms
n1 persist epoch=5
n1 unattached epoch=5
n1 persist epoch=5 voted=n2
n1 unattached epoch=5 voted=n2
n1 -> n2 vote granted epoch=5

power-off n1
start n1
vote-request from=n3 to=n1 epoch=5
----
n1 draw election-timeout=1600ms
n1 unattached epoch=5 voted=n2
n1 -> n3 vote rejected epoch=5

# Asked again by whom it voted for, it says yes again.
vote-request from=n2 to=n1 epoch=5
----
n1 -> n2 vote granted epoch=5
