"""The metadata quorum: elections, and replication of the log. KIP-595 as shipped in Kafka 4.x.

Followers pull. A follower sends **Fetch** for the records after its log; its fetch offset shows the
leader what is durable there, and the response carries records, the high watermark or the point
where the logs diverge (`fetch_leader`, `fetch_follower`). Because nothing is pushed, a new leader
announces itself with **BeginQuorumEpoch**, and a resigning leader speeds up the next election with
**EndQuorumEpoch**. **Vote** elects, after a round of pre-votes that keeps a node without a chance
from raising the epoch (`votes`, KIP-996). **FetchSnapshot** brings a snapshot
to a follower that is too far behind (`snapshots`).

    roles.py            the roles, one frozen class each; ballots, replica progress
    quorum.py           every role transition, persisted and traced in order
    known_quorum.py     read-only view of the quorum, node addresses, candidacy
    deadlines.py        when each timer expires, and how long it runs
    voter_set.py        the voters at one moment
    voter_history.py    the voter sets by log offset
    voter_forms.py      the two forms of voter changes (KIP-853, KIP-856)
    voter_changes.py    AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter at the leader
    own_address.py      UpdateRaftVoter, as a voter sends it
    replicas.py         replica progress at the leader; high watermark; linearizable reads
    local_log.py        the node's log: how much is durable, which records it can replay
    votes.py            Vote and pre-vote; BeginQuorumEpoch and EndQuorumEpoch
    fetch_leader.py     Fetch at the leader
    fetch_follower.py   Fetch at a follower
    snapshots.py        local snapshots; FetchSnapshot
    common.py           rules that several exchanges share; requests restricted to peers
    peers.py            one connection per voter: outstanding requests, time-outs, back-off
    descriptions.py     DescribeQuorum, DescribeCluster, and the quorum's metrics
    raft.py             the whole: hands events to the exchanges, sends what each role requires;
                        takes the transitions that are due
    client.py           the interface that the controller and the broker use
"""
