# The leader tells what it knows of each replica: how far it is, on its disk.
hide draw hang-up begin-quorum-epoch-request fetch flush
disk n1 epoch=1 log=1,1
elect n1

fetch-request from=n2 to=n1 epoch=2 log=1@1
fetch-request from=n9 to=n1 epoch=2 log=2@1
describe-quorum to=n1
----
n1 -> client describe-quorum epoch=2 leader=n1 hwm=unknown: n1 at 3, n2 at 1, n3 at unknown, observer n9 at 2

fetch-request from=n2 to=n1 epoch=2 log=3@2
describe-quorum to=n1
----
n1 high-watermark 3
n1 controller active, replayed to 3
n1 -> client describe-quorum epoch=2 leader=n1 hwm=3: n1 at 3, n2 at 3, n3 at unknown, observer n9 at 2

# Others refuse, and name the leader they know.
quorum 3
describe-quorum to=n1
begin-quorum-epoch-request from=n2 to=n1 epoch=3
describe-quorum to=n1
describe-quorum to=n1 wrong-partition
----
n1 -> client describe-quorum NOT_LEADER_OR_FOLLOWER (6) epoch=0 leader=none
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> client describe-quorum NOT_LEADER_OR_FOLLOWER (6) epoch=3 leader=n2
n1 -> client describe-quorum UNKNOWN_TOPIC_OR_PARTITION (3) epoch=0 leader=none
