# The leader's log has epoch 1 up to offset 3 and epoch 3 up to offset 5; its own is 4.
hide draw hang-up begin-quorum-epoch-request
disk n1 epoch=3 log=1x3,3x2
elect n1

# Behind, with a part of this log: an ordinary follower.
fetch-request from=n2 to=n1 epoch=4 log=2@1
fetch-request from=n2 to=n1 epoch=4 log=3@1
fetch-request from=n2 to=n1 epoch=4 log=5@3
----
n1 -> n2 fetch records=2-5 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch records=3-5 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch records=5 hwm=unknown epoch=4 leader=n1

# Longer than the leader in that epoch: it is told where the epoch ends.
fetch-request from=n2 to=n1 epoch=4 log=4@1
fetch-request from=n2 to=n1 epoch=4 log=6@3
fetch-request from=n2 to=n1 epoch=4 log=9@4
----
n1 -> n2 fetch diverging=3@1 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch diverging=5@3 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch diverging=6@4 hwm=unknown epoch=4 leader=n1

# In an epoch that the leader does not have: it is told of the largest one below.
fetch-request from=n2 to=n1 epoch=4 log=4@2
fetch-request from=n2 to=n1 epoch=4 log=2@0
----
n1 -> n2 fetch diverging=3@1 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch diverging=0@0 hwm=unknown epoch=4 leader=n1

# An empty log is a part of every log, whatever it says of epochs.
fetch-request from=n2 to=n1 epoch=4 log=0@0
fetch-request from=n2 to=n1 epoch=4 log=0@4
----
n1 -> n2 fetch records=0-5 hwm=unknown epoch=4 leader=n1
n1 -> n2 fetch records=0-5 hwm=unknown epoch=4 leader=n1
