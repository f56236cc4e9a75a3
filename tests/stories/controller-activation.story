# A leader is the active controller once its LeaderChange is committed and all before it is replayed;
# not before. An empty log then begins with the bootstrap records, in one transaction.
hide draw hang-up begin-quorum-epoch-request fetch
quorum 3 append.linger.ms=0
elect n1

alter-configs to=n1 resource=a interval.ms=1000
describe-configs to=n1 resource=a
----
n1 -> client alter-configs a NOT_CONTROLLER (41)
n1 -> client describe-configs a NOT_CONTROLLER (41)

fetch-request from=n2 to=n1 epoch=1 log=1@1
----
n1 high-watermark 1
n1 controller active, replayed to 1
n1 append 1-3 epoch=1 begin metadata.version=30 end
n1 flush to 4

# In a log that has them they are not written again, and what was committed in it is known.
fetch-request from=n2 to=n1 epoch=1 log=4@1
alter-configs to=n1 resource=a interval.ms=1000
fetch-request from=n2 to=n1 epoch=1 log=5@1 connection=2
kill n1
start n1
timeout n1
elect n1

fetch-request from=n2 to=n1 epoch=3 log=6@3 connection=3
----
n1 high-watermark 6
n1 controller active, replayed to 6

describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=3 log=6@3 connection=3
fetch-request from=n2 to=n1 epoch=3 log=6@3 connection=3
----
n1 -> client describe-configs a interval.ms=1000
