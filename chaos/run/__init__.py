"""A run, from its plan to its verdict.

planning.py       a plan from a user's choices
plan.py           a plan as one value
scenario_file.py  scenarios in a file of the user
plan_files.py     a plan to and from `run.json`, and as a command line
packages.py       scenarios, faults and checks of installed packages
installation.py   installs what a run needs and the machine lacks
launch.py         makes directory, world and cluster of a plan, and runs it
runtimes.py       the runtimes by name: containers and virtual time
runner.py         one run, from an empty machine to a verdict; what a signal does to it
experiment.py     load and faults on a running cluster
watches.py        probes of the quorum and of partitions during a run
starvation.py     whether this machine had time for the nodes
seal.py           turns recorded events into the sealed tables; collects what a cluster leaves, with
                  an inventory
judging.py        seals and judges a run; writes verdict, page and `repro.sh`
rundir.py         directories of runs
foreign_files.py  judges histories of other programs; judges runs and files again
foreign_disks.py  judges disks of foreign nodes by their contents
terminal.py       verdicts on a terminal
"""
