"""A generator of lies: sound runs, altered so that a promise is broken, or so that none is.

    python -m tests.lies [--check ID ...] [--only NAME ...] [--seed 1] [--bases DIRECTORY]

Each alteration takes a recorded run that is judged as it should be (`bases`), changes it
consistently (rows of its tables, traces, bytes on its disks), brings every count that the harness
keeps into line, seals it by our own tools and has it judged. A *lie* breaks the promise of the
checks that it names: each of them has to say so. A *legal* neighbour is as near to it as can be and
breaks nothing: the run is valid as it was. Every check of `docs/reference/invariants.md` has two of
either at least, and one lie of a target that traces and one of a target that does not where it
judges both (`coverage`).

How to write one, in a module of `themes`:

    @lie("durability", of=("power-off", "kill-leader"), target=BOTH)
    def an_acknowledged_write_is_nowhere(run: Altered, rng: random.Random) -> None:
        \"\"\"The record of a write that was acknowledged is a NoOp on every disk.\"\"\"
        write = rng.choice(run.ops(f="write", outcome="ok"))
        ...

    @legal("durability", of="power-off", target=BOTH)
    def a_write_that_timed_out_is_there(run: Altered, rng: random.Random) -> None: ...

* It is one alteration a base and a target: TRACED (as it was recorded), UNTRACED (without traces,
  as of Apache Kafka), BOTH.
* `rng` draws the victims: another `--seed` alters something else. What cannot be found in a run
  raises NotHere, which counts as a failure: a lie that is never told is none.
* `want` are the verdicts of the check's row that will do, INVALID unless told otherwise: what is
  missing accuses no node, and is void or unknown.
* With `on_disk=True` it gets a `Collected` run, the files of whose disks it changes; the inventory
  is taken anew and the run is sealed from them.
"""
