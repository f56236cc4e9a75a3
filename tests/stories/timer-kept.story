# An epoch bump keeps what is left of the election time-out, so that the candidacies of others cannot
# hold a node back for ever. So it is for an unattached node,
hide fetch-request hang-up
disk n1 epoch=3 log=1
draws n1 1291ms
start n1
wait 628ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 draw election-timeout=1291ms
n1 unattached epoch=3
n1 flush to 1
after 628ms:
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 663ms

# for a candidate,
quorum 3
disk n1 epoch=3 log=1
timeout n1
pre-vote-response from=n2 to=n1 granted

timer n1
wait 500ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 election-timeout in 1670ms
after 500ms:
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 1170ms

# for a leader that resigned,
quorum 3
hide fetch-request hang-up begin-quorum-epoch-request end-quorum-epoch-request
elect n1
timeout n1

timer n1
wait 500ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 election-timeout in 1530ms
after 500ms:
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 1030ms

# and for a prospective node that was not rejected.
quorum 3
disk n1 epoch=3 log=1
timeout n1
pre-vote-response from=n2 to=n1 rejected

timer n1
wait 500ms
vote-request from=n2 to=n1 epoch=5
timer n1
----
n1 election-timeout in 1740ms
after 500ms:
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote rejected epoch=5
n1 election-timeout in 1240ms
