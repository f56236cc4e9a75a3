# A vote that comes when the candidacy is over elects nobody.
hide fetch-request fetch hang-up flush begin-quorum-epoch
draws n1 1100ms 1000ms 1000ms
draws n2 1900ms
start n1
start n2
cut n3
delay n2 -> n1
wait 1100ms

deliver n2 -> n1
----
n1 draw election-timeout=1000ms
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0 (lost)
n2 draw election-timeout=1110ms
n2 persist epoch=1
n2 unattached epoch=1
n2 persist epoch=1 voted=n1
n2 unattached epoch=1 voted=n1
n2 -> n1 vote granted epoch=1 (delayed)

timeout n1
----
after 1000ms:
n1 draw election-timeout=1530ms
n1 prospective epoch=1 voted=n1
n1 -> n2 pre-vote-request epoch=1 log=0@0
n1 -> n3 pre-vote-request epoch=1 log=0@0 (lost)
n2 -> n1 pre-vote granted epoch=1 (delayed)

# Now the vote of epoch 1 arrives, and counts for nothing. The pre-vote behind it makes n1 stand
# again, in an epoch for which it needs other votes.
deliver n2 -> n1
----
n1 draw election-timeout=1490ms
n1 persist epoch=2 voted=n1
n1 candidate epoch=2 voted=n1
n1 -> n2 vote-request epoch=2 log=0@0
n1 -> n3 vote-request epoch=2 log=0@0 (lost)
n2 draw election-timeout=1840ms
n2 persist epoch=2
n2 unattached epoch=2
n2 persist epoch=2 voted=n1
n2 unattached epoch=2 voted=n1
n2 -> n1 vote granted epoch=2 (delayed)

deliver n2 -> n1
----
n1 persist epoch=2 leader=n1
n1 leader epoch=2 leader=n1
n1 append 0 epoch=2 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=2
n1 -> n3 begin-quorum-epoch-request epoch=2 (lost)
n2 persist epoch=2 leader=n1 voted=n1
n2 follower epoch=2 leader=n1 voted=n1
