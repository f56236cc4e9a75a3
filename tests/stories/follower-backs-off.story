# After a refusal the leader is asked again 20 ms later; meanwhile somebody else may know a newer one.
hide draw hang-up
begin-quorum-epoch-request from=n2 to=n1 epoch=3

fetch-response from=n2 to=n1 UNKNOWN_LEADER_EPOCH
wait 20ms
----
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 20ms:
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown

# (Kafka's follower dies of a 42 at the partition. This one takes it for any other refusal.)
fetch-response from=n2 to=n1 INVALID_REQUEST
wait 20ms
----
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 20ms:
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown

# A leader that is down refuses the connection; the longer that lasts, the less often it is tried.
quorum 3
hide draw
start n2
kill n2

begin-quorum-epoch-request from=n2 to=n1 epoch=3
wait 1000ms
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 20ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 60ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 140ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 300ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 620ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown
after 940ms:
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown

# An answer that does not come within 2000 ms costs its connection.
quorum 3 fetch.timeout.ms=5000
begin-quorum-epoch-request from=n2 to=n1 epoch=3

wait 2000ms
----
after 2000ms:
n1 hang up on n2
n1 -> n3 fetch-request epoch=3 log=0@0 hwm=unknown

# What the others say is heard.
fetch-response from=n3 to=n1 FENCED_LEADER_EPOCH epoch=4 leader=n3
----
n1 persist epoch=4 leader=n3
n1 follower epoch=4 leader=n3
