# A follower's high watermark is the smaller of the leader's and its own durable end,
hide draw hang-up
slow-disk n1
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 records=3,3 hwm=9
----
n1 append 0 epoch=3 no-op
n1 append 1 epoch=3 no-op

flush n1
----
n1 flush to 2
n1 high-watermark 2
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=2

# once it knows one: a new leader does not.
fetch-response from=n2 to=n1 hwm=-1
----
n1 -> n2 fetch-request epoch=3 log=2@3 hwm=2

# What a leader of an older epoch had promised is forgotten.
quorum 3
slow-disk n1
begin-quorum-epoch-request from=n2 to=n1 epoch=3
fetch-response from=n2 to=n1 records=3,3 hwm=2
begin-quorum-epoch-request from=n3 to=n1 epoch=4

flush n1
----
n1 flush to 2
n1 -> n3 fetch-request epoch=4 log=2@3 hwm=unknown
