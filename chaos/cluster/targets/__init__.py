"""The programs that may run in the nodes. No code outside of this package knows which one does.

target.py          the interface of a target: what a cluster must know of its program
of_target.py       the part of a cluster that its target decides
node.py            our own node
own_brokers.py     brokers of our own node, beside its controllers
own_settings.py    the settings of our own node for `--set`
kafka.py           Apache Kafka
kafka_settings.py  the settings of Apache Kafka for `--set`
kafka_releases.py  which settings each release of Apache Kafka has
mixed.py           one quorum of our own nodes and Apache Kafka's controllers
named.py           targets by the words of a command line
"""
