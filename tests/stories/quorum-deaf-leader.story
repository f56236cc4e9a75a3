# A leader that is heard, but hears nobody, would keep the others from electing another for ever: it
# resigns (KAFKA-15489), and they do.
hide draw fetch-request fetch hang-up flush persist
draws n1 1100ms
draws n2 1500ms
draws n3 1900ms
start n1
start n2
start n3
wait 1200ms

cut n2 -> n1
cut n3 -> n1
draws n2 1200ms
draws n3 1700ms
wait 5000ms
----
after 900ms:
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1
n2 -> n1 begin-quorum-epoch ok epoch=1 leader=n1 (lost)
n3 -> n1 begin-quorum-epoch ok epoch=1 leader=n1 (lost)
after 2400ms:
n2 prospective epoch=1 leader=n1 voted=n1
n2 -> n3 pre-vote-request epoch=1 log=1@1
n3 -> n2 pre-vote rejected epoch=1 leader=n1
n3 prospective epoch=1 leader=n1 voted=n1
n3 -> n2 pre-vote-request epoch=1 log=1@1
n2 -> n3 pre-vote granted epoch=1 leader=n1
n3 candidate epoch=2 voted=n3
n3 -> n2 vote-request epoch=2 log=1@1
n2 unattached epoch=2
n2 unattached epoch=2 voted=n3
n2 -> n3 vote granted epoch=2
n3 leader epoch=2 leader=n3
n3 append 1 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n3 -> n2 begin-quorum-epoch-request epoch=2
n2 follower epoch=2 leader=n3 voted=n3
n2 -> n3 begin-quorum-epoch ok epoch=2 leader=n3
n2 append 1 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n3 high-watermark 2
n3 controller active, replayed to 2
n2 high-watermark 2
after 2420ms:
n3 -> n1 begin-quorum-epoch-request epoch=2 (lost)
after 2900ms:
n1 resigned epoch=1 leader=n1
n1 controller gives up
after 2920ms:
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
n2 -> n1 end-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=2 leader=n3 (lost)
n3 -> n1 end-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=2 leader=n3 (lost)
after 4430ms:
n1 unattached epoch=2
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=1@1
n1 -> n3 pre-vote-request epoch=2 log=1@1
n2 -> n1 pre-vote rejected epoch=2 leader=n3 (lost)
n3 -> n1 pre-vote rejected epoch=2 leader=n3 (lost)
after 4460ms:
n3 -> n1 begin-quorum-epoch-request epoch=2 (lost)
after 4960ms:
n1 -> n2 pre-vote-request epoch=2 log=1@1
n1 -> n3 pre-vote-request epoch=2 log=1@1
n2 -> n1 pre-vote rejected epoch=2 leader=n3 (lost)
n3 -> n1 pre-vote rejected epoch=2 leader=n3 (lost)
