# Two ask at the same time: the one that the third hears first is elected, the other one follows.
hide fetch-request fetch hang-up flush begin-quorum-epoch
draws n1 1100ms 1500ms 1500ms
draws n2 1100ms 1600ms 1600ms
draws n3 1900ms
delay n1 -> n2
delay n2 -> n1
delay n1 -> n3
start n1
start n2
start n3

wait 1100ms
----
after 1100ms:
n1 draw election-timeout=1500ms
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0 (delayed)
n1 -> n3 pre-vote-request epoch=0 log=0@0 (delayed)
n2 draw election-timeout=1600ms
n2 prospective epoch=0
n2 -> n1 pre-vote-request epoch=0 log=0@0 (delayed)
n2 -> n3 pre-vote-request epoch=0 log=0@0
n3 -> n2 pre-vote granted epoch=0
n2 draw election-timeout=1600ms
n2 persist epoch=1 voted=n2
n2 candidate epoch=1 voted=n2
n2 -> n1 vote-request epoch=1 log=0@0 (delayed)
n2 -> n3 vote-request epoch=1 log=0@0
n3 draw election-timeout=1040ms
n3 persist epoch=1
n3 unattached epoch=1
n3 persist epoch=1 voted=n2
n3 unattached epoch=1 voted=n2
n3 -> n2 vote granted epoch=1
n2 persist epoch=1 leader=n2
n2 leader epoch=1 leader=n2
n2 append 0 epoch=1 leader-change n2 of n1,n2,n3 granted-by=n2,n3
n2 -> n1 begin-quorum-epoch-request epoch=1 (delayed)
n2 -> n3 begin-quorum-epoch-request epoch=1
n3 persist epoch=1 leader=n2 voted=n2
n3 follower epoch=1 leader=n2 voted=n2
n3 append 0 epoch=1 leader-change n2 of n1,n2,n3 granted-by=n2,n3
n2 high-watermark 1
n2 controller active, replayed to 1
n3 high-watermark 1

deliver n1 -> n3
----
n3 -> n1 pre-vote FENCED_LEADER_EPOCH (74) epoch=1 leader=n2
n1 persist epoch=1 leader=n2
n1 follower epoch=1 leader=n2

deliver n1 -> n2
deliver n2 -> n1
----
n2 -> n1 pre-vote FENCED_LEADER_EPOCH (74) epoch=1 leader=n2 (delayed)
n1 -> n2 pre-vote FENCED_LEADER_EPOCH (74) epoch=1 leader=n2 (delayed)
n1 -> n2 vote rejected epoch=1 leader=n2 (delayed)
n1 append 0 epoch=1 leader-change n2 of n1,n2,n3 granted-by=n2,n3
n1 high-watermark 1

# Without a third each votes for itself, and nobody wins. Both wait, for times that differ, and the
# first to ask again is elected.
quorum 2
draws n1 1100ms 1500ms 1500ms 1200ms
draws n2 1100ms 1600ms 1600ms 1200ms
start n1
start n2
wait 3000ms
----
n1 draw election-timeout=1100ms
n1 unattached epoch=0
n2 draw election-timeout=1100ms
n2 unattached epoch=0
after 1100ms:
n1 draw election-timeout=1500ms
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n2 draw election-timeout=1600ms
n2 prospective epoch=0
n2 -> n1 pre-vote-request epoch=0 log=0@0
n2 -> n1 pre-vote granted epoch=0
n1 -> n2 pre-vote granted epoch=0
n1 draw election-timeout=1500ms
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n2 draw election-timeout=1600ms
n2 persist epoch=1 voted=n2
n2 candidate epoch=1 voted=n2
n2 -> n1 vote-request epoch=1 log=0@0
n2 -> n1 vote rejected epoch=1
n1 -> n2 vote rejected epoch=1
after 2600ms:
n1 draw election-timeout=1200ms
n1 prospective epoch=1 voted=n1
n1 -> n2 pre-vote-request epoch=1 log=0@0
n2 -> n1 pre-vote granted epoch=1
n1 draw election-timeout=1490ms
n1 persist epoch=2 voted=n1
n1 candidate epoch=2 voted=n1
n1 -> n2 vote-request epoch=2 log=0@0
n2 draw election-timeout=1200ms
n2 persist epoch=2
n2 unattached epoch=2
n2 persist epoch=2 voted=n1
n2 unattached epoch=2 voted=n1
n2 -> n1 vote granted epoch=2
n1 persist epoch=2 leader=n1
n1 leader epoch=2 leader=n1
n1 append 0 epoch=2 leader-change n1 of n1,n2 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=2
n2 persist epoch=2 leader=n1 voted=n1
n2 follower epoch=2 leader=n1 voted=n1
n2 append 0 epoch=2 leader-change n1 of n1,n2 granted-by=n1,n2
n1 high-watermark 1
n1 controller active, replayed to 1
n2 high-watermark 1
