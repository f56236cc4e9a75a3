"""Coordinators of groups: who is in one, who reads which partitions, and how far they have come.

    group.py              a group, its members, and the rules that ask for no time; what was
                          committed of topics that are no more, forgotten a piece a step
    rebalancing.py        names that members are given, and which ones no answer has room for; a
                          generation of a group: who joins, who shares out, who is late
    group_log.py          a partition of `__consumer_offsets` that this broker leads, replayed; how
                          much of a broker's memory all that takes; requests about very many of
                          them, a piece a step
    expiry.py             which topics members read, as they say it; offsets and groups that nobody
                          has needed for long, likewise
    led_groups.py         the front of such a log, which goes when nothing in it is needed; the
                          groups of such a partition, and writes to it that wait
    group_coordinator.py  what somebody wants to be forgotten, and may be; the whole: a method a
                          request, what is due
    commits.py            who may commit an offset, and what is read of it
    offsets_topic.py      the topic, made when somebody asks for it; who coordinates a group

A group belongs to one partition of `__consumer_offsets`, by a hash of its name, and whoever leads
that coordinates it. The log is all that outlives a leader: offsets, and the members of the last
generation. Its state here is what replaying the log below the high watermark gives, so that nobody
is told of an offset that another leader may not have; and whoever wrote something is answered once
the high watermark has passed it, in the epoch in which it was written, and it is replayed. So it is
those who write that wait for the replay, and whoever asks is answered by what was replayed so far.
A leader does not know its high watermark at first (KIP-207): until then, and until all below is
replayed, it answers COORDINATOR_LOAD_IN_PROGRESS.

Only who belongs to the current generation is known to the leader alone, as in Kafka: whoever is not
there at the next rebalance is no member of the next one.
"""
