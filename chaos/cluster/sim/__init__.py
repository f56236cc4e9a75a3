"""A cluster in one process, on virtual time, from a seed; it may import `node`.

    loop.py              an event loop in which time is a number that jumps
    sim_clock.py         the harness's clock, and the clocks of nodes, which may go wrong
    network.py           byte streams over links that can be cut, slowed and broken; the two ends
                         of each
    journal.py           the metadata of a file system, and how it becomes durable; the steps of a
                         disk, and its failures
    filesystem.py        a page cache over it, which loses data as ext4 does
    remains.py           which states a power cut may leave (used by tests)
    sim_disk.py          the node's disk over that; the disk of a machine, with the harness's
                         faults and canary
    sim_links.py         the links as the nemesis sees them, with evidence; the client listeners,
                         with evidence
    surroundings.py      a node with invariants judged after every step; its environment; the
                         requests to a node, kept for the invariants
    process.py           one life of one node: the server's shell, on virtual time; performs the
                         effects of its turns; the logs that it has open
    known_frames.py      avoids decoding again what nodes fetch from each other
    sim_machine.py       a node's disk, clock and output over its lives; what a run saves of it
    sim_power_cuts.py    its power cuts, with evidence; bounded waits in it; when a fault hits:
                         between any two effects, or two operations of a disk
    sim_cluster.py       all of it as `chaos.cluster.interface.Cluster`, with evidence
    invariants/          what must hold after every step, judged inside
    durable.py           what surely survives on a node's disk
    invariant_keeper.py  keeps the invariants of a run
    watchdog.py          ends a step that never ends, or eats memory
    world.py             what a run needs of its runtime: loop, clock, cluster

The node is the same as in containers, and so are workloads, nemesis, recorder and checkers. Every
consumer of randomness has its own generator, from the seed; nothing reads the machine's time.
"""
