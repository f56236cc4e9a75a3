"""The judge against exhaustive search, and its algorithms against each other.

    python -m tests.checkers.linearizability.brute --count 200000 [--seed 0]

Each seed draws one small history of any model (`tests.support.random_calls`): two thirds of them
damaged. Prints what was drawn and decided how, and each seed on which anybody disagrees; exit
code 1 if there is one.
"""

import argparse
import random
import sys
import time
from collections import Counter

import numpy as np

from checkers.history.calls import Calls, Model
from checkers.linearizability import Decision, decide
from checkers.linearizability.choose import REGISTERS
from checkers.linearizability.deadlines import EXACT, STICKY, lives
from checkers.linearizability.frontier import DIED, SURVIVED, search
from checkers.linearizability.split import Problem, problem, recorded_order, split
from checkers.verdict import Verdict
from tests.support.brute_force import exhaustive
from tests.support.random_calls import random_calls, random_shape
from tests.support.witnesses import window

MODELS = (Model.REGISTER, Model.CAS_REGISTER, Model.KV, Model.MULTI_REGISTER)


def drawn(seed: int) -> Calls:
    rng = random.Random(seed)
    return random_calls(rng, random_shape(rng, rng.choice(MODELS)))


def disagreement(calls: Calls, decision: Decision) -> str:
    """Who contradicts the exhaustive search, or nothing."""
    valid = exhaustive(calls)
    if decision.verdict is not (Verdict.VALID if valid else Verdict.INVALID):
        return f"decided {decision.verdict.word} by {decision.algorithm}"
    if not valid and (decision.witness is None or exhaustive(window(calls, decision.witness))):
        return "the witness is linearizable"
    if calls.model in REGISTERS:
        return _of_searches(calls, valid)
    return ""


def _of_searches(calls: Calls, valid: bool) -> str:
    """The frontier under every assumption, also where the sweep would decide."""
    problems = split(calls, recorded_order(calls).at, np.ones(len(calls.keys), np.bool_))
    keys = [problem(problems, key) for key in range(len(calls.keys))]
    exact = {_status(one, EXACT) for one in keys}
    if exact - {SURVIVED, DIED} or (DIED not in exact) != valid:
        return "the exact frontier"
    if any({_status(one, life) for one in keys} == {SURVIVED} for life in (2, 4)) and not valid:
        return "a short life survived"
    if any(_status(one, STICKY) == DIED for one in keys) and valid:
        return "inexhaustible pending operations died"
    if all(_status(one, EXACT, beam=2) == SURVIVED for one in keys) and not valid:
        return "a beam survived"
    return ""


def _status(one: Problem, bound: int, beam: int = 0) -> int:
    room = beam or 4096
    end = search(one, lives(one, bound), words=1, room=room, limit=10**8, cut_allowed=beam > 0)
    return end.status


def main() -> int:
    parser = argparse.ArgumentParser(description="The judge against exhaustive search.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.monotonic()
    seen: Counter[tuple[str, str, str]] = Counter()
    wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        calls = drawn(seed)
        decision = decide(calls)
        seen[calls.model.value, decision.algorithm, decision.verdict.word] += 1
        if why := disagreement(calls, decision):
            wrong += 1
            print(f"seed {seed}: {why}", flush=True)
    for (model, algorithm, verdict), count in sorted(seen.items()):
        print(f"{count:8,}  {model:15} {verdict:8} {algorithm}")
    seconds = time.monotonic() - began
    print(f"{arguments.count:,} histories, {wrong} disagreements, {seconds:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
