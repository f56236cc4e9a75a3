# What one controller has committed the next one knows; what it had not, nobody ever read.
hide draw hang-up fetch-request fetch flush pre-vote-request pre-vote vote-request vote begin-quorum-epoch begin-quorum-epoch-request
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
draws n1 1100ms
draws n2 1500ms
draws n3 1900ms
start n1
start n2
start n3
wait 1200ms
----
n1 unattached epoch=0
n2 unattached epoch=0
n3 unattached epoch=0
after 1100ms:
n1 prospective epoch=0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n2 persist epoch=1
n2 unattached epoch=1
n2 persist epoch=1 voted=n1
n2 unattached epoch=1 voted=n1
n3 persist epoch=1
n3 unattached epoch=1
n3 persist epoch=1 voted=n1
n3 unattached epoch=1 voted=n1
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n2 persist epoch=1 leader=n1 voted=n1
n2 follower epoch=1 leader=n1 voted=n1
n2 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n3 persist epoch=1 leader=n1 voted=n1
n3 follower epoch=1 leader=n1 voted=n1
n3 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 high-watermark 1
n1 controller active, replayed to 1
n1 append 1-3 epoch=1 begin metadata.version=30 end
n2 high-watermark 1
n3 append 1-3 epoch=1 begin metadata.version=30 end
n3 high-watermark 1
n1 high-watermark 4
n2 append 1-3 epoch=1 begin metadata.version=30 end
n3 high-watermark 4
n2 high-watermark 4

alter-configs to=n1 resource=a interval.ms=1000
wait 10ms
----
n1 append 4 epoch=1 a.interval.ms=1000
n3 append 4 epoch=1 a.interval.ms=1000
n2 append 4 epoch=1 a.interval.ms=1000
n1 high-watermark 5
n1 -> client alter-configs a ok
n3 high-watermark 5
n2 high-watermark 5

cut n1
alter-configs to=n1 resource=a interval.ms=2000
describe-configs to=n1 resource=a
draws n2 1200ms
draws n3 1800ms
wait 4000ms
----
n1 append 5 epoch=1 a.interval.ms=2000
after 1990ms:
n2 prospective epoch=1 leader=n1 voted=n1
n3 prospective epoch=1 leader=n1 voted=n1
n3 persist epoch=2 voted=n3
n3 candidate epoch=2 voted=n3
n2 persist epoch=2
n2 unattached epoch=2
n2 persist epoch=2 voted=n3
n2 unattached epoch=2 voted=n3
n3 persist epoch=2 leader=n3
n3 leader epoch=2 leader=n3
n3 append 5 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n2 persist epoch=2 leader=n3 voted=n3
n2 follower epoch=2 leader=n3 voted=n3
n2 append 5 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n3 high-watermark 6
n3 controller active, replayed to 6
n2 high-watermark 6
after 2990ms:
n1 resigned epoch=1 leader=n1
n1 controller gives up
n1 -> client alter-configs a NOT_CONTROLLER (41)
n1 -> client describe-configs a NOT_CONTROLLER (41)
after 3010ms:
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3 (lost)
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3 (lost)

describe-configs to=n2 resource=a
wait 10ms
heal
wait 4000ms
----
n2 -> client describe-configs a NOT_CONTROLLER (41)
after 50ms:
n1 persist epoch=2 leader=n3
n1 follower epoch=2 leader=n3
after 1050ms:
n1 truncate to 5
n1 append 5 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n1 high-watermark 6
