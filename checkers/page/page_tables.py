"""The tables of the page: faults with their evidence, checks with their cost, statistics."""

from collections.abc import Iterable, Mapping, Sequence

from checkers.page import units
from checkers.page.document import Child, Markup, joined, tag
from checkers.page.lanes import FaultWindow
from checkers.verdict import CheckResult, Verdict

ROWS_LIMIT = 300

Heading = tuple[str, str]  # name, class


def table(columns: Sequence[Heading], rows: Sequence[tuple[str, Sequence[Child]]]) -> Markup:
    """A table of at most `ROWS_LIMIT` rows, each with the class of its row."""
    head = tag("tr", *(tag("th", name, class_=class_ or None) for name, class_ in columns))
    body = [
        tag(
            "tr",
            *(
                tag("td", cell, class_=class_ or None)
                for cell, (_, class_) in zip(cells, columns, strict=True)
            ),
            class_=row_class or None,
        )
        for row_class, cells in rows[:ROWS_LIMIT]
    ]
    left_out = len(rows) - ROWS_LIMIT
    more = tag("p", f"… and {left_out:,} more", class_="soft") if left_out > 0 else None
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), more, class_="scroll")


_FAULT_COLUMNS = (
    ("#", "number"),
    ("fault", "fixed"),
    ("hit", "narrow"),
    ("began", "number"),
    ("healed", "number"),
    ("lasted", "number"),
    ("bit", "fixed"),
    ("evidence", "wide"),
)


def fault_table(faults: Sequence[FaultWindow], end_ns: int) -> Markup:
    if not faults:
        return tag("p", "No fault was recorded.", class_="soft")
    return table(_FAULT_COLUMNS, [("", _fault_cells(fault, end_ns)) for fault in faults])


def _fault_cells(fault: FaultWindow, end_ns: int) -> Sequence[Child]:
    bit = {True: "yes", False: "no: void", None: "never asked"}[fault.bit]
    return (
        fault.fault_id,
        fault.kind,
        fault.where,
        units.moment(fault.start_ns),
        "never" if fault.healed_ns is None else units.moment(fault.healed_ns),
        units.duration(fault.ends_ns(end_ns) - fault.start_ns),
        tag("span", bit, class_="word valid" if fault.bit else "word void"),
        joined(fault.evidence or "none", _measured(fault.facts)),
    )


def _measured(facts: Mapping[str, str]) -> Markup | None:
    """The measured numbers, folded away: a row for each subject (`1->3`) that names begin with."""
    if not facts:
        return None
    rows: dict[str, dict[str, str]] = {}
    for name, value in facts.items():
        subject, _, what = name.rpartition(" ")
        rows.setdefault(subject, {})[what.replace("_", " ")] = _fact(value)
    columns = list(dict.fromkeys(what for row in rows.values() for what in row))
    lines = [
        ("", [subject.replace("->", "→"), *(row.get(what, units.NOTHING) for what in columns)])
        for subject, row in rows.items()
    ]
    shown = table([("", "fixed"), *((what, "number") for what in columns)], lines)
    return tag("details", tag("summary", "what was measured"), shown)


def _fact(value: str) -> str:
    """As in JSON, but for people."""
    if value.isdecimal():
        return units.quantity(int(value))
    return {"true": "yes", "false": "no"}.get(value, value)


_CHECK_COLUMNS = (
    ("verdict", "fixed"),
    ("check", "fixed"),
    ("looked at", "number"),
    ("violations", "number"),
    ("what it says", "wide"),
    ("algorithm", "middling"),
    ("time", "number"),
)


def check_table(results: Sequence[CheckResult]) -> Markup:
    """All checks, the worst first, else in the order in which they ran."""
    if not results:
        return tag("p", "No check was made.", class_="soft")
    ordered = sorted(results, key=lambda result: -result.verdict.value)
    rows = [
        ("bad" if result.verdict is Verdict.INVALID else "", _check_cells(result))
        for result in ordered
    ]
    return table(_CHECK_COLUMNS, rows)


def _check_cells(result: CheckResult) -> Sequence[Child]:
    return (
        verdict_word(result.verdict),
        result.check,
        units.quantity(result.looked_at),
        units.quantity(result.count),
        _with_facts(result.message, result.facts),
        result.algorithm,
        units.duration(result.seconds * 1e9) if result.seconds else "",
    )


def _with_facts(message: str, facts: Mapping[str, str | int | bool | None]) -> str:
    if not facts:
        return message
    told = ", ".join(" ".join(units.named(name, value)) for name, value in facts.items())
    return f"{message} ({told})"


def verdict_word(verdict: Verdict) -> Markup:
    return tag("span", verdict.word, class_=f"word {verdict.word}")


def fact_list(facts: Iterable[tuple[str, Child]]) -> Markup:
    """Names over values, as many beside each other as there is room for."""
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts),
        class_="facts",
    )
