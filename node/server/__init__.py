"""The node as a process: an event loop, sockets, a directory, a clock; and the command line.

cli.py              `kraft-node`: what is typed, and which of the following does it; what the
                    values of options mean
format_command.py   `format`
run.py              `start`: from a formatted directory to a node that serves, and to its end
quorum_command.py   `quorum describe`; `quorum add-voter` and `remove-voter`
tool_client.py      the small client that both ask by
dump_log.py         `dump-log`; and of the indexes of a partition's log
properties.py       server.properties: what all of it says; where it says that a node listens, and
                    finds others; those of Kafka's that a node has not, and that are refused
property_values.py  what one line of it may be; those that are numbers, and what each is called
                    here
directories.py      the directories that it names: whose they are, and where the metadata log is; a
                    directory id for a disk that has none
recovered.py        what a disk holds of a node; the simulator begins a life with it as well
shell.py            the loop: events to the node, effects to the world, one flush for many
tcp.py              the connections that others open, and what all of them may hold
room.py             room for requests that are too large to be taken in as they come
listener.py         the sockets that they come in by, and how many descriptors there are for them
metrics.py          what is measured while it runs: latencies, rates, idleness; what each metric
                    means, and all of them in Prometheus' text format; where Prometheus gets them
framing.py          TCP's probes on both kinds of connections; a stream of bytes as frames
peer_links.py       the connections to other voters
real_disk.py        the disk over a directory
output.py           trace lines, to stdout; stdout and stderr, also where nobody reads them; what
                    an operator is told of others, few lines of each kind
outcome.py          how the process ends, and what it says then
"""
