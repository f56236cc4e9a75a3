# An unattached node knows the epoch and looks for its leader: it fetches from voters at random
# until one of them names the leader, and then follows.
start n1
----
n1 draw election-timeout=1360ms
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown

fetch-response from=n3 to=n1 NOT_LEADER_OR_FOLLOWER leader=none
----
n1 -> n2 fetch-request epoch=0 log=0@0 hwm=unknown

# Whoever was asked is left alone for 20 ms.
fetch-response from=n2 to=n1 NOT_LEADER_OR_FOLLOWER leader=n3
----
n1 persist epoch=0 leader=n3
n1 follower epoch=0 leader=n3

# A leader that was found by chance makes itself known, and what it sent is taken.
quorum 3
hide draw
start n1
fetch-response from=n3 to=n1 records=0 hwm=0
----
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
n1 persist epoch=0 leader=n3
n1 follower epoch=0 leader=n3
n1 append 0 epoch=0 no-op
n1 flush to 1
n1 high-watermark 0
n1 -> n3 fetch-request epoch=0 log=1@0 hwm=0

# A leader that speaks up is followed, too.
quorum 3
start n1
begin-quorum-epoch-request from=n2 to=n1 epoch=4
----
n1 unattached epoch=0
n1 -> n3 fetch-request epoch=0 log=0@0 hwm=unknown
n1 persist epoch=4 leader=n2
n1 follower epoch=4 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=4 leader=n2
n1 hang up on n3
n1 -> n2 fetch-request epoch=4 log=0@0 hwm=unknown

# A voter that finds nobody stands for election when its time-out has elapsed.
quorum 3
hide fetch-request hang-up
timeout n1
----
after 1360ms:
n1 draw election-timeout=1740ms
n1 prospective epoch=0
n1 -> n2 pre-vote-request epoch=0 log=0@0
n1 -> n3 pre-vote-request epoch=0 log=0@0

# A higher epoch is adopted, without a vote in it.
quorum 3
hide draw fetch-request hang-up
vote-request from=n2 to=n1 epoch=5
pre-vote-request from=n2 to=n1 epoch=7
----
n1 persist epoch=5
n1 unattached epoch=5
n1 persist epoch=5 voted=n2
n1 unattached epoch=5 voted=n2
n1 -> n2 vote granted epoch=5
n1 persist epoch=7
n1 unattached epoch=7
n1 -> n2 pre-vote granted epoch=7
