# A Fetch for which there is nothing new waits for as long as it says.
hide draw hang-up begin-quorum-epoch-request
elect n1
fetch-request from=n3 to=n1 epoch=1 log=1@1 hwm=0

fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1 max-wait-ms=300
wait 500ms
----
after 300ms:
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1

# Not if it does not want to wait, nor if the leader knows of a newer high watermark.
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1 max-wait-ms=0
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=0
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=-1
----
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1

# Who does not speak of high watermarks is not told of one.
fetch-request from=n2 to=n1 epoch=1 log=1@1
wait 500ms
----
after 500ms:
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1

# A high watermark that moves ends the wait.
quorum 5
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=-1

fetch-request from=n3 to=n1 epoch=1 log=1@1 hwm=-1
----
n1 high-watermark 1
n1 -> n3 fetch records=none hwm=1 epoch=1 leader=n1
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1
n1 controller active, replayed to 1

# So do records, when they are flushed.
quorum 3 append.linger.ms=0
slow-disk n1
elect n1
flush n1

fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1
----
n1 high-watermark 1
n1 controller active, replayed to 1
n1 append 1-3 epoch=1 begin metadata.version=30 end

flush n1
----
n1 flush to 4
n1 -> n2 fetch records=1-3 hwm=1 epoch=1 leader=n1

# A leader that is deposed, or resigns, lets nobody wait.
quorum 3
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1 max-wait-ms=60000

begin-quorum-epoch-request from=n3 to=n1 epoch=5
----
n1 persist epoch=5 leader=n3
n1 follower epoch=5 leader=n3
n1 -> n3 begin-quorum-epoch ok epoch=5 leader=n3
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=5 leader=n3
n1 -> n3 fetch-request epoch=5 log=1@1 hwm=1
n1 controller gives up

quorum 3
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1 max-wait-ms=60000

timeout n1
----
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 controller gives up

# What is asked behind it on the same connection waits its turn.
quorum 3
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1

vote-request from=n2 to=n1 epoch=1
wait 500ms
----
after 500ms:
n1 -> n2 fetch records=none hwm=1 epoch=1 leader=n1
n1 -> n2 vote rejected epoch=1 leader=n1

# Who hangs up is not answered.
fetch-request from=n2 to=n1 epoch=1 log=1@1 hwm=1
disconnect n2 -> n1
wait 500ms
----
