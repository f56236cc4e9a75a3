# A controller that is not the active one refuses: a follower, a leader that nobody acknowledged yet,
# one that resigned.
hide draw hang-up begin-quorum-epoch-request fetch fetch-request end-quorum-epoch-request
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=1

alter-configs to=n1 resource=a interval.ms=1000
describe-configs to=n1 resource=a
describe-quorum to=n1
----
n1 -> client alter-configs a NOT_CONTROLLER (41)
n1 -> client describe-configs a NOT_CONTROLLER (41)
n1 -> client describe-quorum NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n2

quorum 3
elect n1

alter-configs to=n1 resource=a interval.ms=1000
describe-configs to=n1 resource=a
----
n1 -> client alter-configs a NOT_CONTROLLER (41)
n1 -> client describe-configs a NOT_CONTROLLER (41)

timeout n1
alter-configs to=n1 resource=a interval.ms=1000
describe-configs to=n1 resource=a
describe-quorum to=n1
----
after 3000ms:
n1 resigned epoch=1 leader=n1
n1 -> client alter-configs a NOT_CONTROLLER (41)
n1 -> client describe-configs a NOT_CONTROLLER (41)
n1 -> client describe-quorum NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n1
