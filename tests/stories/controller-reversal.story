# A controller that loses its leadership takes back what was not committed, and says so to the
# clients that wait; the write may still take effect.
hide draw hang-up begin-quorum-epoch-request fetch-request fetch flush
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
fetch-request from=n2 to=n1 epoch=1 log=4@1
alter-configs to=n1 resource=a interval.ms=1000
fetch-request from=n2 to=n1 epoch=1 log=5@1

alter-configs to=n1 from=alice resource=a interval.ms=2000
describe-configs to=n1 from=bob resource=a
begin-quorum-epoch-request from=n3 to=n1 epoch=2
----
n1 append 5 epoch=1 a.interval.ms=2000
n1 persist epoch=2 leader=n3
n1 follower epoch=2 leader=n3
n1 -> n3 begin-quorum-epoch ok epoch=2 leader=n3
n1 controller gives up
n1 -> alice alter-configs a NOT_CONTROLLER (41)
n1 -> bob describe-configs a NOT_CONTROLLER (41)

# The new leader has not got it: it is truncated.
fetch-response from=n3 to=n1 diverging=5@1
fetch-response from=n3 to=n1 records=2 hwm=6
----
n1 truncate to 5
n1 append 5 epoch=2 no-op
n1 high-watermark 6

# Elected again, it has the committed value.
timeout n1
wait 20ms
pre-vote-response from=n2 to=n1 granted
vote-response from=n2 to=n1 granted
fetch-request from=n2 to=n1 epoch=3 log=7@3 connection=2
describe-configs to=n1 resource=a
fetch-request from=n2 to=n1 epoch=3 log=7@3 connection=2
fetch-request from=n2 to=n1 epoch=3 log=7@3 connection=2
----
after 2000ms:
n1 prospective epoch=2 leader=n3
after 2020ms:
n1 -> n2 pre-vote-request epoch=2 log=6@2
n1 -> n3 pre-vote-request epoch=2 log=6@2
n1 persist epoch=3 voted=n1
n1 candidate epoch=3 voted=n1
n1 -> n2 vote-request epoch=3 log=6@2
n1 -> n3 vote-request epoch=3 log=6@2
n1 persist epoch=3 leader=n1
n1 leader epoch=3 leader=n1
n1 append 6 epoch=3 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 high-watermark 7
n1 controller active, replayed to 7
n1 -> client describe-configs a interval.ms=1000

# What was still waiting to be appended is never written.
quorum 3 append.linger.ms=25 max.idle.interval.ms=60000
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1
wait 25ms
fetch-request from=n2 to=n1 epoch=1 log=4@1

alter-configs to=n1 resource=a interval.ms=1000
vote-request from=n3 to=n1 epoch=2 log=9@1
wait 25ms
----
n1 persist epoch=2
n1 unattached epoch=2
n1 persist epoch=2 voted=n3
n1 unattached epoch=2 voted=n3
n1 -> n3 vote granted epoch=2
n1 controller gives up
n1 -> client alter-configs a NOT_CONTROLLER (41)
