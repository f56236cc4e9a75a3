# What is not for this cluster, or not for the metadata partition, is refused as a whole.
hide draw fetch-request hang-up
vote-request from=n2 to=n1 epoch=1 cluster=another
vote-request from=n2 to=n1 epoch=1 wrong-partition
----
n1 -> n2 vote INCONSISTENT_CLUSTER_ID (104) at the top
n1 -> n2 vote INVALID_REQUEST (42) at the top

# Impossible values are refused before anything else is looked at, and change nothing: a log that
# ends nowhere, a real vote from a log that is not older than its epoch, a pre-vote from a log that
# is newer, no candidate, no epoch, or the last one there is.
quorum 3
disk n1 epoch=3
vote-request from=n2 to=n1 epoch=5 log=0@-1
vote-request from=n2 to=n1 epoch=5 log=-1@0
vote-request from=n2 to=n1 epoch=5 log=1@5
pre-vote-request from=n2 to=n1 epoch=5 log=1@6
vote-request from=none to=n1 epoch=5
vote-request from=n2 to=n1 epoch=-1
vote-request from=n2 to=n1 epoch=2147483647
vote-request from=n2 to=n1 epoch=2 log=1@2
----
n1 -> n2 vote INVALID_REQUEST (42) epoch=3
n1 -> n2 vote INVALID_REQUEST (42) epoch=3
n1 -> n2 vote INVALID_REQUEST (42) epoch=3
n1 -> n2 pre-vote INVALID_REQUEST (42) epoch=3
n1 -> none vote INVALID_REQUEST (42) epoch=3
n1 -> n2 vote INVALID_REQUEST (42) epoch=3
n1 -> n2 vote INVALID_REQUEST (42) epoch=3
n1 -> n2 vote INVALID_REQUEST (42) epoch=3

# A pre-vote asks in the epoch of its log.
pre-vote-request from=n2 to=n1 epoch=3 log=1@3
----
n1 -> n2 pre-vote granted epoch=3

# An older epoch is fenced, and told the newer one.
vote-request from=n2 to=n1 epoch=2
pre-vote-request from=n2 to=n1 epoch=2
----
n1 -> n2 vote FENCED_LEADER_EPOCH (74) epoch=3
n1 -> n2 pre-vote FENCED_LEADER_EPOCH (74) epoch=3

# Who is addressed is looked at last: a higher epoch was adopted by then.
vote-request from=n2 to=n1 epoch=5 voter=n1:lost
vote-request from=n2 to=n1 epoch=5 voter=n3:any
----
n1 persist epoch=5
n1 unattached epoch=5
n1 -> n2 vote INVALID_VOTER_KEY (125) epoch=5
n1 -> n2 vote INVALID_VOTER_KEY (125) epoch=5

# Who addresses nobody in particular is answered.
vote-request from=n2 to=n1 epoch=5 voter=none
vote-request from=n2 to=n1 epoch=5 voter=n1:any
----
n1 persist epoch=5 voted=n2
n1 unattached epoch=5 voted=n2
n1 -> n2 vote granted epoch=5
n1 -> n2 vote granted epoch=5
