# A vote whose answer got lost is asked for again; who has answered is not asked again.
hide draw
timeout n1
disconnect n1 -> n2
wait 20ms
----
after 1360ms:
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 hang up on n3
n1 -> n3 pre-vote-request epoch=0 log=0@0
after 1380ms:
n1 -> n2 pre-vote-request epoch=0 log=0@0

pre-vote-response from=n2 to=n1 granted
vote-response from=n2 to=n1 rejected
disconnect n1 -> n3
wait 100ms
----
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0
after 20ms:
n1 -> n3 vote-request epoch=1 log=0@0

# Who refuses with an error is asked again a little later.
vote-response from=n3 to=n1 INVALID_VOTER_KEY
wait 20ms
----
after 20ms:
n1 -> n3 vote-request epoch=1 log=0@0
