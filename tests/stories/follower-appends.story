# A follower appends what its leader sends, flushes, and only then fetches on: the offset in its
# Fetch tells the leader what it cannot lose any more (KAFKA-10533).
hide draw hang-up
slow-disk n1
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 records=1,3 hwm=0
----
n1 append 0 epoch=1 no-op
n1 append 1 epoch=3 no-op

flush n1
----
n1 flush to 2
n1 high-watermark 0
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=0

# Batches of an epoch above its own are left out: another leader's log is not compared with this one
# (KAFKA-18723).
quorum 3
hide draw hang-up flush
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 records=3,4
----
n1 append 0 epoch=3 no-op
n1 -> n2 fetch-request epoch=3 log=1@3 hwm=unknown

# What does not go on at its end is left out, and so is what is damaged; both are fetched again.
fetch-response from=n2 to=n1 records=3 base=5
fetch-response from=n2 to=n1 records=3,3 damaged
----
n1 -> n2 fetch-request epoch=3 log=1@3 hwm=unknown
n1 append 1 epoch=3 no-op
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=unknown

# An answer that says nothing new is followed by the next Fetch, too.
fetch-response from=n2 to=n1
----
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=unknown
