# A leader that stops in good order hands over before any fetch time-out has elapsed. The one who has
# fetched furthest asks at once; the other has not lost its leader yet, and agrees when it is its turn.
hide draw fetch-request fetch hang-up flush persist
draws n1 1100ms
draws n2 1500ms
draws n3 1900ms
start n1
start n2
start n3
wait 1200ms

shutdown n1
wait 600ms
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 controller gives up
n2 -> n1 end-quorum-epoch ok epoch=1 leader=n1
n2 prospective epoch=1 leader=n1 voted=n1
n2 -> n3 pre-vote-request epoch=1 log=1@1
n3 -> n1 end-quorum-epoch ok epoch=1 leader=n1
n3 -> n2 pre-vote rejected epoch=1 leader=n1
n1 stop
after 20ms:
n2 -> n1 pre-vote-request epoch=1 log=1@1
after 60ms:
n2 -> n1 pre-vote-request epoch=1 log=1@1
after 140ms:
n2 -> n1 pre-vote-request epoch=1 log=1@1
after 300ms:
n2 -> n1 pre-vote-request epoch=1 log=1@1
after 500ms:
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
