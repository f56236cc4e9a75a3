# Neither the candidate nor the voter need be in the voter set that the voter knows.
hide draw fetch-request hang-up
vote-request from=n9 to=n1 epoch=1
----
n1 persist epoch=1
n1 unattached epoch=1
n1 persist epoch=1 voted=n9
n1 unattached epoch=1 voted=n9
n1 -> n9 vote granted epoch=1

quorum 3
disk n1:new
vote-request from=n2 to=n1 epoch=1 voter=n1:new
----
n1 persist epoch=1
n1 unattached epoch=1
n1 persist epoch=1 voted=n2
n1 unattached epoch=1 voted=n2
n1 -> n2 vote granted epoch=1
