# The leader counts its own log only as far as it is flushed: a majority of others may commit
# without it, but it never counts itself in advance. (Kafka's leader does, and relies on the others.)
hide draw hang-up begin-quorum-epoch-request fetch-request controller
slow-disk n1
elect n1

fetch-request from=n2 to=n1 epoch=1 log=1@1
----

flush n1
----
n1 flush to 1
n1 high-watermark 1

quorum 3
slow-disk n1
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1

fetch-request from=n3 to=n1 epoch=1 log=1@1
----
n1 high-watermark 1
