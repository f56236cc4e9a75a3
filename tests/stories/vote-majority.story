# A majority is half of the voters and one: two of two,
hide draw fetch-request hang-up begin-quorum-epoch-request flush
quorum 2
timeout n1
pre-vote-response from=n2 to=n1 granted
vote-response from=n2 to=n1 granted
----
after 1360ms:
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2 granted-by=n1,n2

# three of four,
quorum 4
timeout n1
pre-vote-response from=n2 to=n1 granted
pre-vote-response from=n3 to=n1 granted
vote-response from=n2 to=n1 granted
----
after 1360ms:
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 -> n3 pre-vote-request epoch=0 log=0@0
n1 -> n4 pre-vote-request epoch=0 log=0@0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0
n1 -> n4 vote-request epoch=1 log=0@0

vote-response from=n3 to=n1 rejected
----

vote-response from=n4 to=n1 granted
----
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2,n3,n4 granted-by=n1,n2,n4

# three of five; two rejections do not end it.
quorum 5
timeout n1
pre-vote-response from=n2 to=n1 rejected
pre-vote-response from=n3 to=n1 rejected
pre-vote-response from=n4 to=n1 granted
pre-vote-response from=n5 to=n1 granted
vote-response from=n4 to=n1 granted
vote-response from=n5 to=n1 granted
----
after 1360ms:
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 -> n3 pre-vote-request epoch=0 log=0@0
n1 -> n4 pre-vote-request epoch=0 log=0@0
n1 -> n5 pre-vote-request epoch=0 log=0@0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0
n1 -> n4 vote-request epoch=1 log=0@0
n1 -> n5 vote-request epoch=1 log=0@0
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2,n3,n4,n5 granted-by=n1,n4,n5
