# Where the leader's log ends earlier in the follower's last epoch, so does the follower's.
hide draw hang-up
disk n1 epoch=4 log=1x3,4x2
begin-quorum-epoch-request from=n2 to=n1 epoch=5

fetch-response from=n2 to=n1 diverging=4@4
----
n1 truncate to 4
n1 flush to 4
n1 -> n2 fetch-request epoch=5 log=4@4 hwm=unknown

# Where its own ends earlier, that counts.
fetch-response from=n2 to=n1 diverging=9@1
----
n1 truncate to 3
n1 flush to 3
n1 -> n2 fetch-request epoch=5 log=3@1 hwm=unknown

# Where it does not have the given epoch, it goes back to the end of its largest lower one.
quorum 3
disk n1 epoch=4 log=1x3,4x2
begin-quorum-epoch-request from=n2 to=n1 epoch=5

fetch-response from=n2 to=n1 diverging=4@2
----
n1 truncate to 3
n1 flush to 3
n1 -> n2 fetch-request epoch=5 log=3@1 hwm=unknown

# Epoch 0 has no records: the smaller of both ends.
quorum 3
disk n1 epoch=4 log=1x3,4x2
begin-quorum-epoch-request from=n2 to=n1 epoch=5

fetch-response from=n2 to=n1 diverging=0@0
----
n1 truncate to 0
n1 flush to 0
n1 -> n2 fetch-request epoch=5 log=0@0 hwm=unknown

quorum 3
disk n1 epoch=4 log=1x3,4x2
begin-quorum-epoch-request from=n2 to=n1 epoch=5

fetch-response from=n2 to=n1 diverging=2@0
----
n1 truncate to 2
n1 flush to 2
n1 -> n2 fetch-request epoch=5 log=2@1 hwm=unknown

# It fetches again only when the truncation is durable.
quorum 3
slow-disk n1
disk n1 epoch=4 log=1x3,4x2
begin-quorum-epoch-request from=n2 to=n1 epoch=5
flush n1

fetch-response from=n2 to=n1 diverging=3@1
----
n1 truncate to 3

flush n1
----
n1 flush to 3
n1 -> n2 fetch-request epoch=5 log=3@1 hwm=unknown
