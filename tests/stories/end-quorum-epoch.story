# A leader that resigns tells all voters, and names as candidates first those who have fetched
# furthest.
hide draw hang-up fetch-request fetch flush begin-quorum-epoch-request
disk n1 epoch=4 log=1,1
elect n1
fetch-request from=n2 to=n1 epoch=5 log=1@1
fetch-request from=n3 to=n1 epoch=5 log=2@1

timeout n1
----
after 3000ms:
n1 resigned epoch=5 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=5 preferred=n3,n2
n1 -> n3 end-quorum-epoch-request epoch=5 preferred=n3,n2

# Who acknowledges it is not told again; the others are.
end-quorum-epoch-response from=n3 to=n1
disconnect n1 -> n2
wait 20ms
----

wait 100ms
----
after 20ms:
n1 -> n2 end-quorum-epoch-request epoch=5 preferred=n3,n2

# Who has not fetched at all comes last, by its id.
quorum 5
elect n1
fetch-request from=n4 to=n1 epoch=1 log=1@1

timeout n1
----
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n4 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n5 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5

# When the next epoch begins, it is over.
timeout n1
----
after 1060ms:
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n4 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
n1 -> n5 end-quorum-epoch-request epoch=1 preferred=n4,n2,n3,n5
after 1530ms:
n1 persist epoch=2
n1 unattached epoch=2
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=1@1
n1 -> n3 pre-vote-request epoch=2 log=1@1
n1 -> n4 pre-vote-request epoch=2 log=1@1
n1 -> n5 pre-vote-request epoch=2 log=1@1
