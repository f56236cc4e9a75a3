# A new leader makes itself known at once, to all other voters.
hide draw hang-up flush
timeout n1
pre-vote-response from=n2 to=n1 granted

vote-response from=n2 to=n1 granted
----
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1,n2,n3 granted-by=n1,n2
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1

# Then to each that has not fetched for half a fetch time-out, acknowledged or not, for ever.
begin-quorum-epoch-response from=n2 to=n1
begin-quorum-epoch-response from=n3 to=n1
wait 500ms
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1
wait 600ms
----
after 500ms:
n1 high-watermark 1
n1 controller active, replayed to 1
after 1000ms:
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1
n1 -> n3 begin-quorum-epoch-request epoch=1

wait 400ms
----
after 400ms:
n1 -> n2 begin-quorum-epoch-request epoch=1

# Where the message or its answer may be lost, it is sent again when the voter can be reached.
disconnect n1 -> n3
wait 100ms
----
after 20ms:
n1 -> n3 begin-quorum-epoch-request epoch=1

# It is repeated in the whole of the leadership.
quorum 3
hide draw hang-up flush fetch
elect n1
begin-quorum-epoch-response from=n2 to=n1
begin-quorum-epoch-response from=n3 to=n1

wait 1000ms
fetch-request from=n2 to=n1 epoch=1 log=1@1 max-wait-ms=0
begin-quorum-epoch-response from=n2 to=n1
begin-quorum-epoch-response from=n3 to=n1
wait 1000ms
----
after 1000ms:
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1
n1 high-watermark 1
n1 controller active, replayed to 1
after 2000ms:
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1

begin-quorum-epoch-response from=n2 to=n1
begin-quorum-epoch-response from=n3 to=n1
wait 1000ms
----
after 1000ms:
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1
