# Of five voters two others must confirm.
hide draw hang-up begin-quorum-epoch-request fetch
quorum 5 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 max-wait-ms=0
fetch-request from=n3 to=n1 epoch=1 log=1@1 max-wait-ms=0
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n3 to=n1 epoch=1 log=4@1 max-wait-ms=0

describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n2 to=n1 epoch=1 log=4@1 max-wait-ms=0
----

fetch-request from=n3 to=n1 epoch=1 log=4@1 max-wait-ms=0
fetch-request from=n3 to=n1 epoch=1 log=4@1 max-wait-ms=0
----
n1 -> client describe-configs a interval.ms=300000

# A single voter confirms itself.
quorum 1 append.linger.ms=0 max.idle.interval.ms=60000
start n1
describe-configs to=n1 resource=a
----
n1 unattached epoch=0
n1 prospective epoch=0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1 granted-by=n1
n1 flush to 1
n1 high-watermark 1
n1 controller active, replayed to 1
n1 append 1-3 epoch=1 begin metadata.version=30 end
n1 flush to 4
n1 high-watermark 4
n1 -> client describe-configs a interval.ms=300000
