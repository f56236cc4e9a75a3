"""The harness: it makes clusters, injects faults, records what clients see, and has it judged.

Parts of a run:

    scenario.py         a scenario as a value
    scenarios/          the scenarios, by theme
    nemesis/            faults: when, on which nodes, and the proof that they took effect
    conditions.py       time-outs and sizes of nodes, their network and disks

How a run goes:

    run/                from a plan to a verdict
    cluster/            clusters in containers and in virtual time
    recorder.py         the history, written while it happens; clock and phases of a run
    probes.py           the harness's own requests to nodes
    progress.py         progress lines for a terminal
    interrupt.py        Ctrl-C and other signals

Many runs, and studies:

    campaign/           one run a seed; comparing and shrinking runs
    nightly/            a night of runs for CI, and what the morning reads
    selftest/           plants bugs and lies, which the judge must find
    bugs/               the planted bugs
    labs/               the durability audit, the model check, findings in Apache Kafka

For people:

    cli.py              `kraft-chaos`
    commands/           its commands
    play/               a cluster to try things out on
    testing/            the public API, and the plug-in of pytest
    setup/              images, the Docker engine, what a machine lacks
    releases.py         releases of Apache Kafka, versions of what runs
    errors.py           errors that an operator can do something about
    container_files.py  files copied into and out of containers
"""
