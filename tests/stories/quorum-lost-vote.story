# An answer that is lost leaves the connection dead: it is given up after the request time-out, and
# the vote is asked for, and granted, again.
hide draw fetch-request fetch flush begin-quorum-epoch append hwm controller
quorum 3 request.timeout.ms=500
draws n1 1100ms 1900ms 1900ms
draws n2 1900ms
start n1
start n2
cut n3
delay n2 -> n1
wait 1100ms
deliver n2 -> n1

drop n2 -> n1
heal
----

wait 600ms
----
after 500ms:
n1 hang up on n2
n1 hang up on n3
n2 hang up on n1
after 520ms:
n1 -> n2 vote-request epoch=1 log=0@0
n2 -> n1 vote granted epoch=1
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 -> n2 begin-quorum-epoch-request epoch=1
n2 persist epoch=1 leader=n1 voted=n1
n2 follower epoch=1 leader=n1 voted=n1
after 540ms:
n1 -> n3 begin-quorum-epoch-request epoch=1
n2 hang up on n3
