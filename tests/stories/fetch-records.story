# A follower behind gets records at once, uncommitted ones too: that is how they become committed.
hide draw hang-up begin-quorum-epoch-request
disk n1 epoch=1 log=1,1
elect n1

fetch-request from=n2 to=n1 epoch=2 log=1@1
----
n1 -> n2 fetch records=1-2 hwm=unknown epoch=2 leader=n1

# As many batches as it asks for, but never less than one.
fetch-request from=n2 to=n1 epoch=2 log=0@0 max-bytes=1
fetch-request from=n2 to=n1 epoch=2 log=0@0 max-bytes=170
----
n1 -> n2 fetch records=0 hwm=unknown epoch=2 leader=n1
n1 -> n2 fetch records=0-1 hwm=unknown epoch=2 leader=n1

# Only what the leader has flushed starts an answer.
quorum 3
slow-disk n1
elect n1

fetch-request from=n2 to=n1 epoch=1
----

flush n1
----
n1 flush to 1
n1 -> n2 fetch records=0 hwm=unknown epoch=1 leader=n1
