"""The commands of `kraft-chaos`, those of one task in a module; `chaos.cli` parses, dispatches and
maps errors.

    arguments.py             parsing of all command lines; flags shared by several commands
    run_command.py           runs one scenario
    check_command.py         judges runs, foreign histories and disks again
    compare_command.py       runs the sides of scenarios beside each other
    campaign_command.py      many simulated runs, one per seed
    nightly_command.py       a night of runs until its budget ends; the nights of a ledger
    diff_command.py          in what two runs differ
    repro_command.py         repeats a recorded run, once or many times
    shrink_command.py        minimizes a failing run
    report_command.py        many runs on one page
    list_command.py          lists the scenarios
    playground_commands.py   clusters that stay: up, down, inject, heal, ps, logs, shell
    audit_command.py         the durability audit
    model_check_command.py   the model check
    finding_command.py       findings in Apache Kafka
    releases_command.py      its releases, and what was looked for in each
    selftest_command.py      plants bugs, each of which the judge must find
    examination.py           examines it; also before a night begins
    setup_command.py         what this machine has and lacks; installs that
    completion_command.py    completes words in a shell

Results go to stdout, progress and errors to stderr. Every command returns its exit code.
"""
