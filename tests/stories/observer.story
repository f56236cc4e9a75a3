# A node with another disk than the voter set knows is no voter. It looks for the leader among the
# voters, follows it, and looks again when it is lost; it never stands for election.
hide hang-up
disk n1:new
start n1
timer n1
wait 10000ms
----
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
n1 election-timeout never
after 2000ms:
n1 -> n2 fetch-request epoch=0 log=0@0 hwm=unknown
after 4000ms:
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
after 6000ms:
n1 -> n2 fetch-request epoch=0 log=0@0 hwm=unknown
after 8000ms:
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
after 10000ms:
n1 -> n2 fetch-request epoch=0 log=0@0 hwm=unknown

begin-quorum-epoch-request from=n2 to=n1 epoch=1 voter=n1:new
fetch-response from=n2 to=n1 records=1 hwm=1
timeout n1
timer n1
----
n1 persist epoch=1 leader=n2
n1 follower epoch=1 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=1 leader=n2
n1 -> n2 fetch-request epoch=1 log=0@0 hwm=unknown
n1 append 0 epoch=1 no-op
n1 flush to 1
n1 high-watermark 1
n1 -> n2 fetch-request epoch=1 log=1@1 hwm=1
after 2000ms:
n1 persist epoch=1
n1 unattached epoch=1
n1 -> n3 fetch-request epoch=1 log=1@1 hwm=1
n1 election-timeout never

# A higher epoch is adopted; when asked, it votes.
vote-request from=n3 to=n1 epoch=2 log=1@1 voter=n1:new
timer n1
----
n1 persist epoch=2
n1 unattached epoch=2
n1 persist epoch=2 voted=n3
n1 unattached epoch=2 voted=n3
n1 -> n3 vote granted epoch=2
n1 -> n3 fetch-request epoch=2 log=1@1 hwm=1
n1 election-timeout never
