# A single voter elects itself at once, and commits alone.
quorum 1
start n1
----
n1 unattached epoch=0
n1 prospective epoch=0
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 persist epoch=1 leader=n1
n1 leader epoch=1 leader=n1
n1 append 0 epoch=1 leader-change n1 of n1 granted-by=n1
n1 flush to 1
n1 high-watermark 1
n1 controller active, replayed to 1

# Nobody needs to fetch from it.
wait 60000ms
describe-quorum to=n1
----
after 60000ms:
n1 -> client describe-quorum epoch=1 leader=n1 hwm=1: n1 at 1

# An observer is served.
fetch-request from=n9 to=n1 epoch=1
----
n1 -> n9 fetch records=0 hwm=1 epoch=1 leader=n1

# Restarted, it had led the epoch, and goes on in the next one without waiting.
kill n1
start n1
----
n1 resigned epoch=1 leader=n1
n1 persist epoch=2
n1 unattached epoch=2
n1 prospective epoch=2
n1 persist epoch=3 voted=n1
n1 candidate epoch=3 voted=n1
n1 persist epoch=3 leader=n1
n1 leader epoch=3 leader=n1
n1 append 1 epoch=3 leader-change n1 of n1 granted-by=n1
n1 flush to 2
n1 high-watermark 2
n1 controller active, replayed to 2
