"""A cluster in one process, on virtual time, from a seed; it may import `node`.

    loop.py              an event loop in which time is a number that jumps
    sim_clock.py         the harness's clock, and the clocks of nodes, which may go wrong
    network.py           byte streams over links that can be cut, slowed and broken
    streams.py           the two ends of each
    journal.py           the metadata of a file system, and how it becomes durable
    filesystem.py        a page cache over it, which forgets as ext4 does
    remains.py           which states a power cut may leave, decided: the tests ask it
    trouble.py           what a disk does, a step at a time, and what may be wrong with it
    sim_disk.py          the node's disk over that
    drive.py             the disk of a machine, with what the harness does to it and keeps on it
    sim_links.py         the links as the nemesis sees them, with evidence
    sim_entrances.py     the ways in for clients, with evidence
    watched_node.py      a node whose steps are watched over, and looked at afterwards
    process.py           one life of one node: what the server's shell is, on virtual time
    surroundings.py      what it lives in
    process_deeds.py     what its turns ask for, done
    process_logs.py      the logs that it has open
    overheard.py         what a node was asked, kept for who looks on
    known_frames.py      what nodes fetch from each other is not read again on its arrival
    sim_machine.py       a node's disk, clock and output over its lives
    sim_power_cuts.py    its power cuts, with evidence
    saved_machine.py     what a run keeps of it
    sim_waits.py         what is waited for in it
    strike.py            when a fault hits: between any two effects, or two operations of a disk
    sim_cluster.py       all of it as `chaos.cluster.interface.Cluster`, with evidence
    invariants/          what must hold after every step, looked at from inside
    durable.py           what a disk is sure to hold of its node
    invariant_keeper.py  keeps the invariants of a run
    watchdog.py          ends a step that never ends, or eats memory
    world.py             what a run needs of its runtime: loop, clock, cluster

The node is the very one of the containers, and so are workloads, nemesis, recorder and checkers.
Every consumer of randomness has its own, from the seed; nothing asks for the machine's time.
"""
