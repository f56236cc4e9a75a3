"""Is a history of registers linearizable? One pass over all keys, for values written once.

Real time is the order in which the runner recorded events, never a clock: operation a precedes b
if a's completion was recorded before b's invocation. `registers` reads the operations and explains
what it found, `zones` is the compiled sweep; importing this package compiles nothing.

Keys on which a value was written twice are named and left undecided here.
"""


def warm() -> None:
    """Compile the kernels, or load them from numba's cache, before anybody waits for a verdict."""
    from checkers.linearizability import zones

    zones.warm()
