# A prospective node and a candidate never fetch: neither knows whom to believe.
hide draw
timeout n1

disconnect n1 -> n2
disconnect n1 -> n3
wait 200ms
----
after 20ms:
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 -> n3 pre-vote-request epoch=0 log=0@0

pre-vote-response from=n2 to=n1 granted
disconnect n1 -> n2
disconnect n1 -> n3
wait 200ms
----
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0
after 20ms:
n1 -> n2 vote-request epoch=1 log=0@0
after 40ms:
n1 -> n3 vote-request epoch=1 log=0@0

# A Fetch that is out when the election begins is given up.
quorum 3
start n1
timeout n1
----
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
after 1360ms:
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 hang up on n3
n1 -> n3 pre-vote-request epoch=0 log=0@0
