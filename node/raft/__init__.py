"""The quorum: elections and the commit of the metadata log. KIP-595 as shipped in Kafka 4.x.

Replication is pulled. A follower sends **Fetch** for what follows its log; the offset it asks for
tells the leader what is durable there, and the answer brings records, the high watermark or the
point where the logs diverge (`fetch_leader`, `fetch_follower`). Because nothing is pushed, a new
leader makes itself known with **BeginQuorumEpoch**, and one that steps down hurries the next
election with **EndQuorumEpoch** (`begin_end_epoch`). **Vote** elects, after a round of pre-votes
that keeps a node without a chance from raising the epoch (`votes`, KIP-996). **FetchSnapshot**
brings a snapshot to a follower that is too far behind (`snapshots`).

    roles.py         one frozen class a role, holding only what is true in that role
    quorum.py        every transition, persisted and traced in order
    known_quorum.py  what a node knows of its quorum, and where other nodes are reached
    deadlines.py     what is due when
    due_moves.py     takes the transitions that are due; what a new leader writes
    voter_set.py     the voters of one moment
    voter_history.py the voters, and from which offset of the log on
    voter_forms.py   the two forms of voter changes (KIP-853, KIP-856)
    voter_changes.py AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter at the leader
    own_address.py   UpdateRaftVoter, as a voter sends it
    replicas.py      what a leader knows of each replica; the rule of the high watermark; reads
    local_log.py     the node's log: how much of it is durable, which records it can replay
    common.py        rules that several exchanges share; which requests only peers may send
    peers.py         one connection a voter: outstanding requests, time-outs, back-off
    descriptions.py  DescribeQuorum, DescribeCluster, and the gauges of metrics
    raft.py          the whole: hands events to the exchanges, sends what each role owes
    client.py        the seam: all that the controller and the broker know of the quorum
"""
