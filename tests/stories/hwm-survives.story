# What is committed stays known to a node that loses its leader, asks for votes and stands.
hide draw hang-up begin-quorum-epoch-request
begin-quorum-epoch-request from=n2 to=n1 epoch=1

fetch-response from=n2 to=n1 records=1,1 hwm=1
----
n1 append 0 epoch=1 no-op
n1 append 1 epoch=1 no-op
n1 flush to 2
n1 high-watermark 1
n1 -> n2 fetch-request epoch=1 log=2@1 hwm=1

vote-request from=n3 to=n1 epoch=2
----
n1 persist epoch=2
n1 unattached epoch=2
n1 -> n3 vote rejected epoch=2
n1 -> n2 fetch-request epoch=2 log=2@1 hwm=1

timeout n1
wait 20ms
pre-vote-response from=n3 to=n1 granted
begin-quorum-epoch-request from=n2 to=n1 epoch=3
----
after 1740ms:
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=2@1
n1 -> n3 pre-vote-request epoch=2 log=2@1
after 1760ms:
n1 persist epoch=3 voted=n1
n1 candidate epoch=3 voted=n1
n1 -> n2 vote-request epoch=3 log=2@1
n1 -> n3 vote-request epoch=3 log=2@1
n1 persist epoch=3 leader=n2 voted=n1
n1 follower epoch=3 leader=n2 voted=n1
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 -> n2 fetch-request epoch=3 log=2@1 hwm=1

# It never goes down on a follower.
fetch-response from=n2 to=n1 hwm=0
----
n1 -> n2 fetch-request epoch=3 log=2@1 hwm=1

# A new leader starts without one: only what its own epoch commits is known to be committed.
timeout n1
wait 20ms
pre-vote-response from=n3 to=n1 granted
vote-response from=n3 to=n1 granted

describe-quorum to=n1
fetch-request from=n3 to=n1 epoch=4 log=0@0
fetch-request from=n3 to=n1 epoch=4 log=3@4
----
n1 -> client describe-quorum epoch=4 leader=n1 hwm=unknown: n1 at 3, n2 at unknown, n3 at unknown
n1 -> n3 fetch records=0-2 hwm=unknown epoch=4 leader=n1
n1 high-watermark 3
n1 controller active, replayed to 3
