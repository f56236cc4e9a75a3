# A leader that no majority fetches from for 1.5 fetch time-outs resigns. One fetch of one of two
# others is enough for another 3000 ms.
hide draw hang-up begin-quorum-epoch-request flush fetch
elect n1
wait 2990ms

fetch-request from=n2 to=n1 epoch=1 log=1@1
timer n1
timeout n1
----
n1 high-watermark 1
n1 controller active, replayed to 1
n1 check-quorum in 3000ms
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 controller gives up

# Of five, two others must fetch, and the time counts from the fetch that makes the majority.
quorum 5
elect n1

wait 1000ms
fetch-request from=n2 to=n1 epoch=1 log=1@1
timer n1
wait 1000ms
fetch-request from=n2 to=n1 epoch=1 log=1@1 connection=2
timer n1
wait 900ms
fetch-request from=n3 to=n1 epoch=1 log=1@1
timer n1
----
after 1000ms:
n1 check-quorum in 2000ms
after 2000ms:
n1 check-quorum in 1000ms
after 2900ms:
n1 high-watermark 1
n1 controller active, replayed to 1
n1 check-quorum in 3000ms

# Then both must fetch again.
wait 1000ms
fetch-request from=n3 to=n1 epoch=1 log=1@1
timeout n1
----
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3,n4,n5
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3,n4,n5
n1 -> n4 end-quorum-epoch-request epoch=1 preferred=n2,n3,n4,n5
n1 -> n5 end-quorum-epoch-request epoch=1 preferred=n2,n3,n4,n5
n1 controller gives up

# Only voters count: neither the id of one on another disk, nor a stranger.
quorum 3
elect n1

wait 1000ms
fetch-request from=n2:spare to=n1 epoch=1 log=1@1
fetch-request from=n9 to=n1 epoch=1 log=1@1
timer n1
----
after 1000ms:
n1 check-quorum in 2000ms

# A Fetch that is refused shows nothing; nor does one that diverges.
fetch-request from=n2 to=n1 epoch=0 log=1@0
timer n1
fetch-request from=n2 to=n1 epoch=1 log=7@1
timer n1
----
n1 check-quorum in 2000ms
n1 check-quorum in 2000ms

# The time follows the fetch time-out.
quorum 3 fetch.timeout.ms=1000
elect n1

timer n1
----
n1 check-quorum in 1500ms
