# A node that is cut off asks for pre-votes for ever, but its epoch stays; when it is back, nobody is
# disturbed (KIP-996).
hide draw fetch-request fetch hang-up flush persist
draws n1 1100ms
draws n2 1500ms
draws n3 1900ms
start n1
start n2
start n3
wait 1200ms

cut n3
wait 6000ms
----
after 900ms:
n1 -> n3 begin-quorum-epoch-request epoch=1 (lost)
after 1900ms:
n3 prospective epoch=1 leader=n1 voted=n1
n3 -> n2 pre-vote-request epoch=1 log=1@1 (lost)
after 1920ms:
n3 -> n1 pre-vote-request epoch=1 log=1@1 (lost)
after 2920ms:
n1 -> n3 begin-quorum-epoch-request epoch=1 (lost)
after 3290ms:
n3 follower epoch=1 leader=n1 voted=n1
after 4960ms:
n1 -> n3 begin-quorum-epoch-request epoch=1 (lost)
after 5290ms:
n3 prospective epoch=1 leader=n1 voted=n1
n3 -> n1 pre-vote-request epoch=1 log=1@1 (lost)
n3 -> n2 pre-vote-request epoch=1 log=1@1 (lost)

heal
wait 3000ms
----
after 330ms:
n3 follower epoch=1 leader=n1 voted=n1
after 1040ms:
n1 -> n3 begin-quorum-epoch-request epoch=1
n3 -> n1 begin-quorum-epoch ok epoch=1 leader=n1
