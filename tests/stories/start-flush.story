# A killed process leaves records in the page cache. After the restart they count as durable only
# when they are flushed: until then the node fetches nothing, so that it claims nothing.
hide draw
slow-disk n1
disk n1 epoch=1 leader=n2 log=1,1 unflushed=1
start n1
----
n1 follower epoch=1 leader=n2

flush n1
----
n1 flush to 2
n1 -> n2 fetch-request epoch=1 log=2@1 hwm=unknown

# A power cut loses them.
quorum 3
disk n1 epoch=1 leader=n2 log=1,1 unflushed=1
power-off n1
start n1
----
n1 lose 1 of 2 records
n1 follower epoch=1 leader=n2
n1 flush to 1
n1 -> n2 fetch-request epoch=1 log=1@1 hwm=unknown
