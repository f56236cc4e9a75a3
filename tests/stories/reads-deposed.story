# A leader that nobody follows any more never answers a read with a value.
hide draw hang-up begin-quorum-epoch-request fetch end-quorum-epoch-request
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
fetch-request from=n2 to=n1 epoch=1 log=4@1

describe-configs to=n1 resource=a
wait 4000ms
----
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 controller gives up
n1 -> client describe-configs a NOT_CONTROLLER (41)

# What was confirmed in one epoch confirms nothing in the next.
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
fetch-request from=n2 to=n1 epoch=1 log=4@1
vote-request from=n3 to=n1 epoch=2
elect n1
fetch-request from=n3 to=n1 epoch=3 log=5@3

describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=3 log=5@3
----

fetch-request from=n2 to=n1 epoch=3 log=5@3
----
n1 -> client describe-configs a interval.ms=300000
