# A vote request does not wait behind a Fetch that the other side may have parked: that connection
# is given up.
hide draw
begin-quorum-epoch-request from=n2 to=n1 epoch=3
end-quorum-epoch-request from=n2 to=n1 epoch=3
----
n1 persist epoch=3 leader=n2
n1 follower epoch=3 leader=n2
n1 -> n2 begin-quorum-epoch ok epoch=3 leader=n2
n1 hang up on n3
n1 -> n2 fetch-request epoch=3 log=0@0 hwm=unknown
n1 -> n2 end-quorum-epoch ok epoch=3 leader=n2
n1 prospective epoch=3 leader=n2
n1 hang up on n2
n1 -> n2 pre-vote-request epoch=3 log=0@0
n1 -> n3 pre-vote-request epoch=3 log=0@0
