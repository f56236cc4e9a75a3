"""The node as a process: an event loop, sockets, a directory, a clock; and the command line.

cli.py              `kraft-node`: its commands and options
format_command.py   `format`
run.py              `start`: from a formatted directory to a serving node, and its shutdown
quorum_command.py   `quorum describe`, `quorum add-voter` and `quorum remove-voter`
elect_command.py    `elect-leaders`
topics_command.py   `topics describe`
tool_client.py      the small client of these commands
dump_log.py         `dump-log`, of segments, indexes and checkpoints
properties.py       server.properties: listeners, quorum, roles, and unsupported keys
property_values.py  parsing of its lines and values; the numeric settings
directories.py      the log directories that it names, and new directory ids
recovered.py        a node recovered from its disk; shared with the simulator
shell.py            the loop: events to the node, effects to the world, one flush for many
tcp.py              the connections that others open, and their limits
listener.py         the listening sockets, and descriptors for connections
metrics.py          the metrics: measurement, Prometheus' text format, the HTTP endpoint
framing.py          a stream of bytes as frames; TCP keepalive
peer_links.py       the connections to other voters
real_disk.py        the disk over a directory
output.py           trace lines, stdout and stderr, rate-limited notices to the operator
outcome.py          exit codes, last messages and immediate ends of the process
"""
