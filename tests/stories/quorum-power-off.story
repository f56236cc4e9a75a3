# A leader that loses its power is replaced when the fetch time-out of another has elapsed. What it
# had appended alone is lost with it, and its offset goes to another record, of another epoch.
hide draw fetch-request fetch hang-up
quorum 3 append.linger.ms=0 max.idle.interval.ms=60000
draws n1 1100ms
draws n2 1500ms
draws n3 1900ms
start n1
start n2
start n3
wait 1200ms
slow-disk n1

alter-configs to=n1 resource=a interval.ms=1000
power-off n1
----
n1 append 4 epoch=1 a.interval.ms=1000
n1 lose 1 of 5 records

draws n2 1200ms
draws n3 1800ms
wait 2500ms
----
after 1900ms:
n2 prospective epoch=1 leader=n1 voted=n1
n2 -> n1 pre-vote-request epoch=1 log=4@1
n2 -> n3 pre-vote-request epoch=1 log=4@1
n3 -> n2 pre-vote rejected epoch=1 leader=n1
n3 prospective epoch=1 leader=n1 voted=n1
n3 -> n1 pre-vote-request epoch=1 log=4@1
n3 -> n2 pre-vote-request epoch=1 log=4@1
n2 -> n3 pre-vote granted epoch=1 leader=n1
n3 persist epoch=2 voted=n3
n3 candidate epoch=2 voted=n3
n3 -> n2 vote-request epoch=2 log=4@1
n2 persist epoch=2
n2 unattached epoch=2
n2 persist epoch=2 voted=n3
n2 unattached epoch=2 voted=n3
n2 -> n3 vote granted epoch=2
n3 persist epoch=2 leader=n3
n3 leader epoch=2 leader=n3
n3 append 4 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n3 -> n2 begin-quorum-epoch-request epoch=2
n3 flush to 5
n2 persist epoch=2 leader=n3 voted=n3
n2 follower epoch=2 leader=n3 voted=n3
n2 -> n3 begin-quorum-epoch ok epoch=2 leader=n3
n2 append 4 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n2 flush to 5
n3 high-watermark 5
n3 controller active, replayed to 5
n2 high-watermark 5
after 2220ms:
n3 -> n1 begin-quorum-epoch-request epoch=2

start n1
flush n1
wait 100ms
flush n1
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=nobody
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=nobody
n2 -> n1 end-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=2 leader=n3
n3 -> n1 end-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=2 leader=n3
n1 persist epoch=2 leader=n3
n1 follower epoch=2 leader=n3
n1 flush to 4
after 20ms:
n1 append 4 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
after 100ms:
n1 flush to 5
n1 high-watermark 5
