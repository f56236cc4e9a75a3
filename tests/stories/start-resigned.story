# Who led the stored epoch never leads it again: what was not flushed is lost, and leading on would
# give its offsets to other records (KAFKA-10527). It tells the others, with an empty list.
disk n1 epoch=3 leader=n1 log=1,3
start n1
----
n1 draw election-timeout=1360ms
n1 resigned epoch=3 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=3 preferred=nobody
n1 -> n3 end-quorum-epoch-request epoch=3 preferred=nobody
n1 flush to 2

timeout n1
----
after 1360ms:
n1 draw election-timeout=1740ms
n1 persist epoch=4
n1 unattached epoch=4
n1 prospective epoch=4
n1 -> n2 pre-vote-request epoch=4 log=2@3
n1 -> n3 pre-vote-request epoch=4 log=2@3

# So it goes to a leader whose power was cut before its LeaderChange was flushed.
quorum 3
hide draw hang-up fetch-request
slow-disk n1
elect n1

power-off n1
start n1
----
n1 lose 1 of 1 records
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=nobody
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=nobody

timeout n1
pre-vote-response from=n2 to=n1 granted
vote-response from=n2 to=n1 granted
----
after 1600ms:
n1 persist epoch=2
n1 unattached epoch=2
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=0@0
n1 -> n3 pre-vote-request epoch=2 log=0@0
n1 persist epoch=3 voted=n1
n1 candidate epoch=3 voted=n1
n1 -> n2 vote-request epoch=3 log=0@0
n1 -> n3 vote-request epoch=3 log=0@0
n1 persist epoch=3 leader=n1
n1 leader epoch=3 leader=n1
n1 append 0 epoch=3 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=3
n1 -> n3 begin-quorum-epoch-request epoch=3
