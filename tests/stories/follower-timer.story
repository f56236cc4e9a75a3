# Every successful Fetch begins the fetch time-out anew: with records, without, or with divergence.
hide draw hang-up fetch-request append flush truncate pre-vote-request
begin-quorum-epoch-request from=n2 to=n1 epoch=3
wait 1500ms

fetch-response from=n2 to=n1 records=3
timer n1
wait 1500ms
fetch-response from=n2 to=n1
timer n1
wait 1500ms
fetch-response from=n2 to=n1 diverging=0@0
timer n1
----
n1 fetch-timeout in 2000ms
after 1500ms:
n1 fetch-timeout in 2000ms
after 3000ms:
n1 fetch-timeout in 2000ms

# A refusal does not.
wait 1500ms
fetch-response from=n2 to=n1 UNKNOWN_LEADER_EPOCH
timer n1
----
after 1500ms:
n1 fetch-timeout in 500ms

# Nor does the answer of somebody else.
disconnect n1 -> n2
fetch-response from=n3 to=n1 NOT_LEADER_OR_FOLLOWER leader=n2
timer n1
----
n1 fetch-timeout in 500ms

timeout n1
----
after 500ms:
n1 prospective epoch=3 leader=n2
