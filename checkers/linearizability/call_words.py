"""What calls did, in words."""

from checkers.history.calls import ANY, NIL, Calls, Model, Step


def text(calls: Calls, code: int) -> str:
    """A value as the history spells it; `nil` also for one that was not observed."""
    return "nil" if code in (NIL, ANY) else calls.values[code]


def describe(calls: Calls, row: int) -> str:
    """What a call did: `read 3`, `cas 1 to 2`, `append "x"`."""
    steps = range(calls.step_from[row], calls.step_from[row + 1])
    return ", ".join(_step(calls, step) for step in steps)


def _step(calls: Calls, step: int) -> str:
    value = _quoted(calls, int(calls.value[step]))
    expected = _quoted(calls, int(calls.expected[step]))
    at = f"{calls.keys[calls.key[step]]} " if calls.model is Model.MULTI_REGISTER else ""
    if calls.model is Model.MUTEX:
        return "acquire" if calls.value[step] != calls.initial else "release"
    match Step(int(calls.kind[step])):
        case Step.READ:
            return f"read {at}{value}"
        case Step.WRITE:
            return f"write {at}{value}"
        case Step.CAS:
            return f"cas {at}{expected} to {value}"
        case Step.CAS_FAILED:
            return f"cas {at}{expected} to {value}, refused"
        case Step.APPEND:
            return f"append {at}{value}"
        case Step.ADD:
            return f"add {value}"


def _quoted(calls: Calls, code: int) -> str:
    """Texts, unlike numbers, may be empty or hold commas."""
    if code == ANY:
        return "?"
    said = text(calls, code)
    return f'"{said}"' if calls.model is Model.KV and code != NIL else said
