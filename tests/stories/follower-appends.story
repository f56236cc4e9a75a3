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

# What cannot be taken ends the connection: batches of an epoch above its own, since another leader's
# log is not compared with this one (KAFKA-18723),
quorum 3
hide draw hang-up flush
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 records=3,4
wait 20ms
----
n1 append 0 epoch=3 no-op
n1 cannot take what n2 answered: corrupt batch at byte 0: offset 1 of epoch 4 stands where offset 1 of epoch 3 to 3 belongs
n1 -> n3 fetch-request epoch=3 log=1@3 hwm=unknown
after 20ms:
n1 -> n2 fetch-request epoch=3 log=1@3 hwm=unknown

# those of an epoch below the log's (each time it is longer until the leader is asked again),
fetch-response from=n2 to=n1 records=2
wait 40ms
----
n1 cannot take what n2 answered: corrupt batch at byte 0: offset 1 of epoch 2 stands where offset 1 of epoch 3 to 3 belongs
n1 -> n3 fetch-request epoch=3 log=1@3 hwm=unknown
after 40ms:
n1 -> n2 fetch-request epoch=3 log=1@3 hwm=unknown

# those that do not go on at its end,
fetch-response from=n2 to=n1 records=3 base=5
wait 80ms
----
n1 cannot take what n2 answered: corrupt batch at byte 0: offset 5 of epoch 3 stands where offset 1 of epoch 3 to 3 belongs
n1 -> n3 fetch-request epoch=3 log=1@3 hwm=unknown
after 80ms:
n1 -> n2 fetch-request epoch=3 log=1@3 hwm=unknown

# and those that are damaged. What comes before them is kept, and the rest is fetched again.
fetch-response from=n2 to=n1 records=3,3 damaged
wait 160ms
----
n1 append 1 epoch=3 no-op
n1 cannot take what n2 answered: corrupt batch at byte 72: CRC-32C is c8ebfa5c, the header says 3a80795f
n1 -> n3 fetch-request epoch=3 log=2@3 hwm=unknown
after 160ms:
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=unknown

# So does a divergence where its log has no end of a batch.
fetch-response from=n2 to=n1 diverging=7@3
wait 320ms
----
n1 cannot take what n2 answered: a divergence at LogPosition(epoch=3, offset=7), where our log cannot be cut
n1 -> n3 fetch-request epoch=3 log=2@3 hwm=unknown
after 320ms:
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=unknown

# An answer that says nothing new is followed by the next Fetch, too.
fetch-response from=n2 to=n1
----
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=unknown
