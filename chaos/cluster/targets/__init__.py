"""The programs that may run in the nodes. No code outside of this package knows which one does.

target.py          what a cluster must know of such a program
of_target.py       a cluster, as far as its target says what it is
node.py            our own node
own_brokers.py     brokers of it, beside its controllers
own_settings.py    what may be chosen of it by `--set`
kafka.py           Apache Kafka
kafka_settings.py  what may be chosen of it by `--set`
kafka_releases.py  which of Kafka's own a release has; those that the first one had
mixed.py           one quorum of both
named.py           the targets by the words of a command line
"""
