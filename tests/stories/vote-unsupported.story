# A voter that knows no pre-vote cannot be asked for one: the node stands for election at once.
hide draw fetch-request hang-up
timeout n1

pre-vote-response from=n2 to=n1 UNSUPPORTED_VERSION at-the-top
----
n1 persist epoch=1 voted=n1
n1 candidate epoch=1 voted=n1
n1 -> n2 vote-request epoch=1 log=0@0
n1 -> n3 vote-request epoch=1 log=0@0

# For a real vote that is an answer like any other error.
vote-response from=n2 to=n1 UNSUPPORTED_VERSION at-the-top
----

# An answer to the pre-vote of an election that is over changes nothing.
quorum 3
timeout n1
pre-vote-response from=n3 to=n1 granted

pre-vote-response from=n2 to=n1 UNSUPPORTED_VERSION at-the-top epoch=0
----
