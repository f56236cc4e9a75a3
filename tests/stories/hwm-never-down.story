# A voter that comes back with less than it had takes nothing back.
hide draw hang-up begin-quorum-epoch-request fetch-request controller
elect n1
fetch-request from=n2 to=n1 epoch=1 log=1@1

fetch-request from=n2 to=n1 epoch=1 log=0@0 connection=2
describe-quorum to=n1
----
n1 -> n2 fetch records=0 hwm=1 epoch=1 leader=n1
n1 -> client describe-quorum epoch=1 leader=n1 hwm=1: n1 at 1, n2 at 0, n3 at unknown
