# When its leader resigns, the first of the preferred candidates asks for pre-votes at once; so does
# everybody when there is no list.
hide draw hang-up fetch-request
begin-quorum-epoch-request from=n2 to=n1 epoch=3

end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n1,n3
----
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 prospective epoch=3 leader=n2
n1 -> n2 pre-vote-request epoch=3 log=0@0
n1 -> n3 pre-vote-request epoch=3 log=0@0

quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

end-quorum-epoch-request from=n2 to=n1 epoch=3
----
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 prospective epoch=3 leader=n2
n1 -> n2 pre-vote-request epoch=3 log=0@0
n1 -> n3 pre-vote-request epoch=3 log=0@0

# The second waits; so much longer, the further back it stands: min(max, (max >> (n-1)) << (p-1)) at
# place p of n, with a back-off of 1000 ms at most.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n1
timer n1
----
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 500ms

quorum 5
begin-quorum-epoch-request from=n2 to=n1 epoch=3

end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n1,n4,n5
timer n1
end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n4,n1,n5
timer n1
end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n4,n5,n1
timer n1
----
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 125ms
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 250ms
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 500ms

# Who is not in the list waits the longest; that may be longer than it would have.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3
wait 1900ms

timer n1
end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3
timer n1
----
n1 fetch-timeout in 100ms
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 1000ms

# Who has not heard of the epoch yet follows first.
quorum 3
end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n1
timer n1
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 500ms

# A candidate learns whom to follow; who is prospective already need not be told.
quorum 3
timeout n1
pre-vote-response from=n2 to=n1 granted

end-quorum-epoch-request from=n2 to=n1 epoch=1 preferred=n3,n1
timer n1
timeout n1
timer n1
end-quorum-epoch-request from=n2 to=n1 epoch=1 preferred=n3,n1
timer n1
----
n1 persist epoch=1 leader=n2 voted=n1
n1 follower epoch=1 leader=n2 voted=n1
n1 -> n2 end-quorum-epoch ok epoch=1 leader=n2
n1 fetch-timeout in 500ms
after 500ms:
n1 prospective epoch=1 leader=n2 voted=n1
n1 -> n2 pre-vote-request epoch=1 log=0@0
n1 -> n3 pre-vote-request epoch=1 log=0@0
n1 election-timeout in 1530ms
n1 -> n2 end-quorum-epoch ok epoch=1 leader=n2
n1 election-timeout in 1530ms

# What cannot be true is refused.
quorum 3
begin-quorum-epoch-request from=n2 to=n1 epoch=3

end-quorum-epoch-request from=n2 to=n1 epoch=2
end-quorum-epoch-request from=n3 to=n1 epoch=3
end-quorum-epoch-request from=n2 to=n1 epoch=4 leader=n9
end-quorum-epoch-request from=n2 to=n1 epoch=3 cluster=another
end-quorum-epoch-request from=n2 to=n1 epoch=3 wrong-partition
----
n1 -> n2 end-quorum-epoch FENCED_LEADER_EPOCH (74) epoch=3 leader=n2
n1 -> n3 end-quorum-epoch INVALID_REQUEST (42) at the top
n1 persist epoch=4
n1 unattached epoch=4
n1 -> n2 end-quorum-epoch ok epoch=4
n1 -> n2 end-quorum-epoch INCONSISTENT_CLUSTER_ID (104) at the top
n1 -> n2 end-quorum-epoch INVALID_REQUEST (42) at the top

# The longest wait is controller.quorum.election.backoff.max.ms.
quorum 3 election.backoff.max.ms=400
end-quorum-epoch-request from=n2 to=n1 epoch=3 preferred=n3,n1
timer n1
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 fetch-timeout in 200ms
