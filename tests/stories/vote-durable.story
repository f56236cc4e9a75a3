# Who stands for election asks for votes once all of its log is durable, and not before.
# n1 leads epoch 1 and has committed two records with n2; n3 has them in its page cache only.
hide draw hang-up begin-quorum-epoch-request fetch-request
begin-quorum-epoch-request from=n1 to=n2 epoch=1
fetch-response from=n1 to=n2 records=1,1 hwm=-1
fetch-response from=n1 to=n2 hwm=2
slow-disk n3
begin-quorum-epoch-request from=n1 to=n3 epoch=1
fetch-response from=n1 to=n3 records=1,1 hwm=-1
wait 50ms
end-quorum-epoch-request from=n1 to=n2 epoch=1

end-quorum-epoch-request from=n1 to=n3 epoch=1 preferred=n3
----
n3 -> n1 end-quorum-epoch ok epoch=1 leader=n1
n3 prospective epoch=1 leader=n1

flush n3
----
n3 flush to 2
n3 -> n1 pre-vote-request epoch=1 log=2@1
n3 -> n2 pre-vote-request epoch=1 log=2@1
n2 -> n3 pre-vote granted epoch=1 leader=n1
n3 persist epoch=2 voted=n3
n3 candidate epoch=2 voted=n3
n3 -> n1 vote-request epoch=2 log=2@1
n3 -> n2 vote-request epoch=2 log=2@1
n2 persist epoch=2
n2 unattached epoch=2
n2 persist epoch=2 voted=n3
n2 unattached epoch=2 voted=n3
n2 -> n3 vote granted epoch=2
n3 persist epoch=2 leader=n3
n3 leader epoch=2 leader=n3
n3 append 2 epoch=2 leader-change n3 of n1,n2,n3 granted-by=n2,n3
n2 persist epoch=2 leader=n3 voted=n3
n2 follower epoch=2 leader=n3 voted=n3
n2 -> n3 begin-quorum-epoch ok epoch=2 leader=n3

# What it did not boast of it has not lost when the power goes: it asks with what it has.
quorum 3
hide draw hang-up begin-quorum-epoch-request fetch-request
begin-quorum-epoch-request from=n1 to=n3 epoch=1
slow-disk n3
fetch-response from=n1 to=n3 records=1,1 hwm=-1

end-quorum-epoch-request from=n1 to=n3 epoch=1 preferred=n3
power-off n3
start n3
timeout n3
----
n3 -> n1 end-quorum-epoch ok epoch=1 leader=n1
n3 prospective epoch=1 leader=n1
n3 lose 2 of 2 records
n3 follower epoch=1 leader=n1
after 2000ms:
n3 prospective epoch=1 leader=n1
n3 -> n2 pre-vote-request epoch=1 log=0@0
