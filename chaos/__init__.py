"""The harness: it makes clusters, hurts them, records what clients see, and has it judged.

What a run is:

    scenario.py, scenarios/    what a cluster is put through, as values
    nemesis/                   faults: when, on which nodes, and the proof that they took effect
    conditions.py              conditions that are waited for, and the settings of nodes

How it goes:

    run/                       plan, launch, runner, experiment, collect, seal, judging
    cluster/                   clusters in containers and in virtual time
    recorder.py                the history, written while it happens
    probes.py                  the harness's own questions to nodes
    progress.py, interrupt.py  lines for the terminal; Ctrl-C

Many runs, and what is built from them:

    campaign/                  one run a seed; the sides of a scenario compared; shrinking
    selftest/, bugs/           planted bugs and lies, which the judge must find
    labs/                      the durability audit, the model check, findings in Apache Kafka

For people:

    cli.py, commands/          `kraft-chaos`
    play/                      a cluster to play with
    setup/                     images, the Docker engine, what a machine lacks
    releases.py                releases of Apache Kafka, versions of what runs
    errors.py                  errors that an operator can do something about
    container_files.py         files copied into and out of containers
"""
