"""A cluster in one process, on virtual time, from a seed; it may import `node`.

    world.py             loop, clock and cluster of one run
    sim_cluster.py       the cluster, as `chaos.cluster.interface.Cluster`
    loop.py              an event loop in which time is a number that jumps
    network.py           byte streams over links that can be cut, slowed and broken
    sim_links.py         links between nodes and links of clients, with evidence
    disk/                a node's disk, which forgets what was not synced; power cuts with evidence
    process.py           one life of a node: its turns, their effects, its open logs
    surroundings.py      the environment of a process; the node with its invariants; the harness's
                         clock, and the clocks of nodes, which may go wrong
    known_frames.py      avoids decoding again what nodes fetch from each other
    sim_machine.py       a node's disk, clock and output over its lives
    invariants/          what must hold after every step, judged inside
    invariant_keeper.py  keeps the invariants of a run; what surely survives on a node's disk
    watchdog.py          ends a step that never ends, or eats memory

The node is the same as in containers, and so are workloads, nemesis, recorder and checkers. Every
consumer of randomness has its own generator, from the seed; nothing reads the machine's time.
"""
