"""A cluster in one process, on virtual time, from a seed; it may import `node`.

    loop.py              an event loop in which time is a number that jumps
    sim_clock.py         the harness's clock, and the clocks of nodes, which may go wrong
    network.py           byte streams over links that can be cut, slowed and broken
    streams.py           the two ends of each
    journal.py           the metadata of a file system, and how it becomes durable
    filesystem.py        a page cache over it, which loses data as ext4 does
    remains.py           which states a power cut may leave (used by tests)
    trouble.py           the steps of a disk, and its failures
    sim_disk.py          the node's disk over that
    drive.py             the disk of a machine, with the harness's faults and canary
    sim_links.py         the links as the nemesis sees them, with evidence
    sim_entrances.py     the client listeners, with evidence
    watched_node.py      a node with invariants judged after every step
    process.py           one life of one node: the server's shell, on virtual time
    surroundings.py      its environment
    process_deeds.py     performs the effects of its turns
    process_logs.py      the logs that it has open
    overheard.py         the requests to a node, kept for the invariants
    known_frames.py      avoids decoding again what nodes fetch from each other
    sim_machine.py       a node's disk, clock and output over its lives
    sim_power_cuts.py    its power cuts, with evidence
    saved_machine.py     what a run saves of it
    sim_waits.py         bounded waits in it
    strike.py            when a fault hits: between any two effects, or two operations of a disk
    sim_cluster.py       all of it as `chaos.cluster.interface.Cluster`, with evidence
    invariants/          what must hold after every step, judged inside
    durable.py           what surely survives on a node's disk
    invariant_keeper.py  keeps the invariants of a run
    watchdog.py          ends a step that never ends, or eats memory
    world.py             what a run needs of its runtime: loop, clock, cluster

The node is the same as in containers, and so are workloads, nemesis, recorder and checkers. Every
consumer of randomness has its own generator, from the seed; nothing reads the machine's time.
"""
