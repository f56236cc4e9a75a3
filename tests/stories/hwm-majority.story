# What a majority has on its disks is committed: sorted by log end, what the one in the middle has.
hide draw hang-up begin-quorum-epoch-request fetch fetch-request controller
quorum 5
disk n1 epoch=1 log=1,1,1
elect n1

fetch-request from=n2 to=n1 epoch=2 log=4@2
fetch-request from=n3 to=n1 epoch=2 log=1@1
----

fetch-request from=n4 to=n1 epoch=2 log=4@2
----
n1 high-watermark 4

# Half of four is no majority.
quorum 4
elect n1

fetch-request from=n2 to=n1 epoch=1 log=1@1
----

fetch-request from=n3 to=n1 epoch=1 log=1@1
----
n1 high-watermark 1
