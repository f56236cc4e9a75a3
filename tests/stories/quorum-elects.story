# Three nodes on empty disks: the first whose time-out elapses asks for pre-votes, stands, is elected,
# and makes itself known; the others fetch its LeaderChange, which is committed and told.
hide draw fetch-request fetch hang-up
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
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 -> n3 pre-vote-request epoch=0 log=0@0
n2 -> n1 pre-vote granted epoch=0
n3 -> n1 pre-vote granted epoch=0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0
n2 persist epoch=1
n2 unattached epoch=1
n2 persist epoch=1 voted=n1
n2 unattached epoch=1 voted=n1
n2 -> n1 vote granted epoch=1
n3 persist epoch=1
n3 unattached epoch=1
n3 persist epoch=1 voted=n1
n3 unattached epoch=1 voted=n1
n3 -> n1 vote granted epoch=1
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 flush to 1
n2 persist epoch=1 leader=n1 voted=n1
n2 follower epoch=1 leader=n1 voted=n1
n2 -> n1 begin-quorum-epoch ok epoch=1 leader=n1
n2 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n2 flush to 1
n3 persist epoch=1 leader=n1 voted=n1
n3 follower epoch=1 leader=n1 voted=n1
n3 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n3 flush to 1
n1 high-watermark 1
n1 controller active, replayed to 1
n2 high-watermark 1
n3 high-watermark 1

# Nothing more happens while all is well.
wait 10000ms
----
