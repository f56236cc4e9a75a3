# A leader that is to stop resigns and tells the voters; when all know, it stops.
hide draw hang-up begin-quorum-epoch-request fetch-request
elect n1

shutdown n1
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3

# Meanwhile it hears of no leader and serves no records.
begin-quorum-epoch-request from=n2 to=n1 epoch=2
end-quorum-epoch-request from=n2 to=n1 epoch=2
fetch-request from=n2 to=n1 epoch=1 log=1@1
----
n1 -> n2 begin-quorum-epoch BROKER_NOT_AVAILABLE (8) epoch=1 leader=n1
n1 -> n2 end-quorum-epoch BROKER_NOT_AVAILABLE (8) epoch=1 leader=n1
n1 -> n2 fetch NOT_LEADER_OR_FOLLOWER (6) epoch=1 leader=n1

end-quorum-epoch-response from=n2 to=n1
end-quorum-epoch-response from=n3 to=n1
----
n1 stop

# It waits for nobody longer than a second.
quorum 3
elect n1

shutdown n1
wait 2000ms
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
after 1000ms:
n1 stop

# Nor for one who knows a newer leader.
quorum 3
elect n1

shutdown n1
end-quorum-epoch-response from=n2 to=n1 FENCED_LEADER_EPOCH epoch=2 leader=n2
----
n1 resigned epoch=1 leader=n1
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 persist epoch=2 leader=n2
n1 follower epoch=2 leader=n2
n1 stop

# All others stop at once.
quorum 3
shutdown n1
----
n1 stop

quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=1

shutdown n1
----
n1 stop

quorum 1
start n1

shutdown n1
----
n1 resigned epoch=1 leader=n1
n1 controller gives up
n1 stop

# One that had resigned already does not stand again: it stops when its time-out has elapsed.
quorum 3
elect n1
timeout n1
wait 1000ms

shutdown n1
wait 2000ms
----
after 60ms:
n1 -> n2 end-quorum-epoch-request epoch=1 preferred=n2,n3
n1 -> n3 end-quorum-epoch-request epoch=1 preferred=n2,n3
after 530ms:
n1 stop
