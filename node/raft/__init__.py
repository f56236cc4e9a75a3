"""The quorum: who leads, what is committed. KIP-595 as shipped in Kafka 4.x.

Replication is pulled. A follower sends **Fetch** for what follows its log; the offset it asks for
tells the leader what is durable there, and the answer brings records, the high watermark or the
point where the logs diverge (`fetch_leader`, `fetch_follower`; `fetched` says what of an answer is
taken). Because nothing is pushed, a new leader makes itself known with **BeginQuorumEpoch**, and
one that steps down hurries the next election with **EndQuorumEpoch** (`begin_end_epoch`). **Vote**
elects, after a round of pre-votes that keeps a node without hope from raising the epoch (`votes`,
KIP-996). **DescribeQuorum** shows the leader's view to anybody (`quorum_description`),
**DescribeCluster** who the controllers are (`cluster_description`), and metrics what is so at a
moment (`quorum_gauges`).

    role       roles.py       one frozen class each, holding only what is true in that role
    moves      quorum.py      every transition, persisted and traced in order; known_quorum.py:
               what can be asked of it
    deadlines  deadlines.py   what is due when, and what happens then; due_moves.py takes what is
    addresses  addresses.py   where other nodes are reached
    voters     voter_set, voter_history: who votes, from which offset on; asked of the log, which
               is where control records say so. voter_forms: in which of two ways (KIP-853,
               KIP-856). voter_changes: AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter at the
               leader. own_address: a voter tells where it listens now
    rules      election, high_watermark, reachable_epoch, progress, portion: pure leaves
    trust      peers_only.py   what is served on the voters' own listener alone
    exchanges  votes, begin_end_epoch, fetch_leader, fetch_follower, quorum_description,
               cluster_description
    sends      peers.py       one connection a voter: outstanding requests, time-outs, back-off
    whole      raft.py        hands events to the exchanges and sends what each role owes
    leader     replicas.py    how far each replica is, and whether a majority still follows;
               leader_records.py: what it writes of itself, and of who votes
    seam       client.py      what the controller knows of all this
"""
