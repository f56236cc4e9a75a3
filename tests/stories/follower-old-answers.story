# An answer of an epoch below its own is dropped, one without an epoch (-1) too.
hide draw hang-up
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 epoch=2 records=2 hwm=1
wait 20ms
fetch-response from=n2 to=n1 epoch=-1 leader=none records=3 hwm=1
----
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 20ms:
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown

# An answer of a higher epoch brings no records: the next Fetch will.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 epoch=4 records=4 hwm=1
----
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n3 fetch-request epoch=4 log=0@0 hwm=unknown

# Records come from the leader alone.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3
disconnect n1 -> n2

fetch-response from=n3 to=n1 leader=n2 records=3 hwm=1
----

# Nobody honest names a second leader of the epoch: the answer is dropped.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 leader=n3 records=3 hwm=1
----
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
