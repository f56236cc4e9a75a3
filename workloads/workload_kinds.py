"""The registry of workloads: one line each."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from workloads.append import APPEND
from workloads.membership import MEMBERSHIP
from workloads.register import REGISTER
from workloads.workload import Load, WorkloadKind

_REGISTERED: tuple[WorkloadKind[Any], ...] = (REGISTER, APPEND, MEMBERSHIP)

KINDS: Mapping[str, WorkloadKind[Any]] = {kind.name: kind for kind in _REGISTERED}


def kind_of(load: Load) -> WorkloadKind[Any]:
    """The workload that has these options. Raises LookupError if there is none."""
    for kind in KINDS.values():
        if type(load) is kind.options:
            return kind
    raise LookupError(f"no workload has the options {type(load).__name__}")


def with_options(load: Load, **changes: object) -> Load:
    """The same load with these options changed. Raises TypeError for unknown ones."""
    changed: Load = kind_of(load).options(**{**asdict(load), **changes})
    return changed


def load_as_json(load: Load) -> dict[str, Any]:
    """A load by the name of its workload and all of its options."""
    return {"workload": kind_of(load).name, "options": asdict(load)}


def load_from(content: Mapping[str, Any]) -> Load:
    """The inverse of `load_as_json`. Raises ValueError naming what is missing or unknown: a default
    may have been another when the JSON was written."""
    name, options = content["workload"], dict(content["options"])
    if name not in KINDS:
        raise ValueError(f"unknown workload {name!r}; known: {', '.join(KINDS)}")
    kind = KINDS[name]
    known = {field.name for field in fields(kind.options)}
    if odd := sorted(known ^ options.keys()):
        what = "unknown" if odd[0] in options else "missing"
        raise ValueError(f"the option {odd[0]} of {name} is {what}")
    load: Load = kind.options(**{key: _value(value) for key, value in options.items()})
    return load


def _value(value: object) -> object:
    """JSON has no tuples, and options no lists."""
    return tuple(value) if isinstance(value, list) else value
