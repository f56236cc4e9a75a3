# Only a valid Fetch says how far a voter is: not one that diverges, nor one that is refused, nor one
# of a replica that is no voter.
hide draw hang-up begin-quorum-epoch-request fetch-request controller
disk n1 epoch=1 log=1,1
elect n1

fetch-request from=n2 to=n1 epoch=2 log=7@2
fetch-request from=n2 to=n1 epoch=1 log=3@1
fetch-request from=n2:spare to=n1 epoch=2 log=3@2 max-wait-ms=0
fetch-request from=n9 to=n1 epoch=2 log=3@2 max-wait-ms=0
describe-quorum to=n1
----
n1 -> n2 fetch diverging=3@2 hwm=unknown epoch=2 leader=n1
n1 -> n2 fetch FENCED_LEADER_EPOCH (74) epoch=2 leader=n1
n1 -> n2 fetch records=none hwm=unknown epoch=2 leader=n1
n1 -> n9 fetch records=none hwm=unknown epoch=2 leader=n1
n1 -> client describe-quorum epoch=2 leader=n1 hwm=unknown: n1 at 3, n2 at unknown, n3 at unknown, observer n2:spare at 3, observer n9 at 3
