# A Fetch in the name of the leader itself is answered, and counts for nothing: nobody fetches from
# itself, so it keeps nobody in office and need not be told who leads.
hide draw hang-up end-quorum-epoch-request
elect n1

wait 1000ms
fetch-request from=n1 to=n1 epoch=1 log=0@0
wait 5000ms
----
after 1000ms:
n1 -> n1 fetch records=0 hwm=unknown epoch=1 leader=n1
after 2020ms:
n1 -> n2 begin-quorum-epoch-request epoch=1
n1 -> n3 begin-quorum-epoch-request epoch=1
after 3000ms:
n1 resigned epoch=1 leader=n1
after 4530ms:
n1 persist epoch=2
n1 unattached epoch=2
n1 prospective epoch=2
n1 -> n2 pre-vote-request epoch=2 log=1@1
n1 -> n3 pre-vote-request epoch=2 log=1@1
