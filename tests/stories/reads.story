# A read is answered when a majority has confirmed that the leader still leads: by a Fetch that was
# sent after the read had come. The Fetch that is parked was sent before, so it is answered at once,
hide draw hang-up begin-quorum-epoch-request
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
fetch-request from=n2 to=n1 epoch=1 log=4@1
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4

describe-configs to=n1 resource=a
----
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> client describe-configs a interval.ms=300000

# and the one that follows on the same connection confirms.
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----

# Where none is parked, the next one is answered at once, and the one after it confirms: the first
# may have been on its way while its sender elected somebody else.
disconnect n2 -> n1
describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1

fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----
n1 -> client describe-configs a interval.ms=300000

# A Fetch on another connection confirms nothing: it may be older than the answer.
disconnect n2 -> n1
describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4 connection=2
----
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1

fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----
n1 -> client describe-configs a interval.ms=300000

# One round serves all reads that wait; who comes after the answer waits for the next.
disconnect n2 -> n1
describe-configs to=n1 from=alice resource=a
describe-configs to=n1 from=bob resource=b
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
describe-configs to=n1 from=carol resource=c
fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> alice describe-configs a interval.ms=300000
n1 -> bob describe-configs b interval.ms=300000

fetch-request from=n2 to=n1 epoch=1 log=4@1 hwm=4
----
n1 -> carol describe-configs c interval.ms=300000

# Replicas that are no voters confirm nothing.
disconnect n2 -> n1
describe-configs to=n1 resource=a
fetch-request from=n2:spare to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n2:spare to=n1 epoch=1 log=4@1 max-wait-ms=0
----
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=4 epoch=1 leader=n1
