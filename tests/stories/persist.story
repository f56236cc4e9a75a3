# Whatever changes epoch, leader or vote is written down before it shows: in an answer,
hide draw hang-up
start n1

vote-request from=n2 to=n1 epoch=5
----
n1 persist epoch=5
n1 unattached epoch=5
n1 persist epoch=5 voted=n2
n1 unattached epoch=5 voted=n2
n1 -> n2 vote granted epoch=5
n1 -> n2 fetch-request epoch=5 log=0@0 hwm=unknown

# in a request,
timeout n1
pre-vote-response from=n2 to=n1 granted
----
after 1740ms:
n1 prospective epoch=5 voted=n2
n1 -> n2 pre-vote-request epoch=5 log=0@0
n1 -> n3 pre-vote-request epoch=5 log=0@0
n1 persist epoch=6 voted=n1
n1 candidate epoch=6 voted=n1
n1 -> n2 vote-request epoch=6 log=0@0
n1 -> n3 vote-request epoch=6 log=0@0

# or in the log.
vote-response from=n2 to=n1 granted
----
n1 persist epoch=6 leader=n1
n1 leader epoch=6 leader=n1
n1 append 0 epoch=6 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=6
n1 -> n3 begin-quorum-epoch-request epoch=6
n1 flush to 1

# To be prospective, or to resign, changes nothing that is written down.
quorum 3
hide draw hang-up fetch-request pre-vote-request begin-quorum-epoch-request end-quorum-epoch-request
disk n1 epoch=4 voted=n2
start n1
timeout n1
----
n1 unattached epoch=4 voted=n2
after 1360ms:
n1 prospective epoch=4 voted=n2

quorum 3
elect n1

timeout n1
----
after 3000ms:
n1 resigned epoch=1 leader=n1
