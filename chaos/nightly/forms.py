"""What people and CI servers see of a night: text, Markdown, annotations, JUnit XML."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chaos.cluster.targets.named import is_kafka
from checkers.verdict import Verdict, counted, in_words
from spark_reports.ledger import LedgerRow, Night
from spark_reports.nights import Comparison, RedGroup, RedStanding

_NAMED = 5  # things to look at


def headline(found: Comparison) -> str:
    """`2 new reds, 1 known, 0 mended, of 312 runs; the night can be trusted`."""
    new = len(found.new)
    known = len(found.groups) - new
    runs = counted(len(found.night.rows), "run")
    trust = "cannot be trusted: " + "; ".join(found.doubts) if found.doubts else "can be trusted"
    return (
        f"{found.verdict.name}: {counted(new, 'new red')}, {known} known, {len(found.mended)} "
        f"mended, of {runs}; the night {trust}"
    )


def as_text(found: Comparison, findings: Mapping[str, str] | None = None) -> str:
    """What is new first; every line that names a failure names the command that repeats it.

    `findings`: by scenario, the name of what is known of Apache Kafka (`docs/results/findings.md`).
    """
    lines = [f"night {found.night.date}  {headline(found)}", f"  {_by_part(found.night.rows)}"]
    for group in found.groups:
        lines.append(f"  {group.standing}: {group.scenario}: {group.fingerprint}")
        lines.append(f"    {group.rate} runs; since {group.since}; {group.worst.command}")
        lines += [f"    {line}" for line in _told_more(group, findings or {})]
    lines += [f"  mended since {date}: {name}: {what}" for (name, what), date in found.mended]
    lines += [f"  flaky: {row.subject_words}: {share}" for row, share in found.flaky]
    lines += [f"  slower: {each.words}" for each in found.slower]
    lines += [f"  more often: {each.words}" for each in found.more_often]
    if found.uncovered:
        lines.append(f"  not covered, unlike before: {'; '.join(found.uncovered)}")
    return "\n".join(lines)


def _told_more(group: RedGroup, findings: Mapping[str, str]) -> Iterator[str]:
    """What the night tried for it, by place, and what is known of it already."""
    places = sorted({(row.target, row.runtime) for row in (*group.rows, *group.green)})
    if len(places) > 1 or group.green:
        told = [_at(group, target, runtime) for target, runtime in places]
        yield f"tried on {'; '.join(told)}"
    if group.small is not None:
        yield f"made small: {group.small.command}"
    if group.elsewhere:
        yield f"the same in {', '.join(group.elsewhere)}"
    if any(is_kafka(row.target) for row in group.rows):
        known = findings.get(group.scenario)
        yield f"known: kraft-chaos finding {known}" if known else "in no finding of this scenario"


def _at(group: RedGroup, target: str, runtime: str) -> str:
    def here(rows: Sequence[LedgerRow]) -> int:
        return sum((row.target, row.runtime) == (target, runtime) for row in rows)

    red = here(group.rows)
    return f"{target} ({runtime}): {in_words(red, red + here(group.green))} red"


def _by_part(rows: Sequence[LedgerRow]) -> str:
    parts = Counter(row.part for row in rows)
    verdicts = Counter(row.counts_as.word for row in rows)
    return ", ".join(
        [f"{n:,} {part}" for part, n in parts.items()]
        + [f"{n:,} {word}" for word, n in sorted(verdicts.items())]
    )


def as_message(found: Comparison, page: Path) -> dict[str, object]:
    """The night for other programs: `--notify`."""
    return {
        "night": found.night.date,
        "verdict": found.verdict.word,
        "headline": headline(found),
        "trusted": not found.doubts,
        "doubts": found.doubts,
        "runs": len(found.night.rows),
        "reds": [_group_as_json(group) for group in found.groups],
        "mended": [
            {"scenario": name, "fingerprint": what, "night": date}
            for (name, what), date in found.mended
        ],
        "flaky": [{"subject": row.subject_words, "red": share} for row, share in found.flaky],
        "slower": [each.words for each in found.slower],
        "more_often": [each.words for each in found.more_often],
        "not_covered": list(found.uncovered),
        "page": str(page.absolute()),
    }


def _group_as_json(group: RedGroup) -> dict[str, object]:
    worst = group.worst
    return {
        "standing": group.standing.value,
        "scenario": group.scenario,
        "fingerprint": group.fingerprint,
        "sentence": worst.sentence,
        "red": len(group.rows),
        "tried": group.tried,
        "since": group.since,
        "command": worst.command,
        "made_small": group.small.command if group.small is not None else "",
        "directory": worst.directory,
    }


def as_markdown(found: Comparison) -> str:
    """A job's summary."""
    lines = [f"## Night of {found.night.date}: {found.verdict.word}", "", headline(found), ""]
    if found.groups:
        lines += ["| | scenario | failure | runs | since | again |", "|---|---|---|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, _columns(group)))} |" for group in found.groups]
        lines.append("")
    lines += [f"* mended since {date}: {name}: {what}" for (name, what), date in found.mended]
    lines += [f"* flaky: {row.subject_words}: {share}" for row, share in found.flaky]
    lines += [f"* slower: {each.words}" for each in found.slower]
    lines += [f"* more often: {each.words}" for each in found.more_often]
    if found.uncovered:
        lines.append(f"* not covered: {counted(len(found.uncovered), 'subject')}")
    return "\n".join(lines) + "\n"


def _columns(group: RedGroup) -> tuple[str, ...]:
    worst = group.worst
    return (
        group.standing.value,
        group.scenario,
        group.fingerprint,
        group.rate,
        group.since,
        f"`{worst.command}`",
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def annotations(found: Comparison) -> Iterator[str]:
    """For each new red, as GitHub's workflows read it."""
    for group in found.new[:_NAMED]:
        said = f"{group.scenario}: {group.fingerprint} ({group.rate}) {group.worst.command}"
        escaped = said.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        yield f"::error title=new red::{escaped}"


def write_junit(found: Comparison, path: Path) -> None:
    """A test a run, a suite a part. A known red says so, and a void run is skipped, not passed.
    Raises OSError."""
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    standing = {row.key: group.standing for group in found.groups for row in group.rows}
    document = JUnitXml(f"kraft-chaos night {found.night.date}")
    for part, rows in _parts(found.night):
        suite = TestSuite(part)
        for row in rows:
            case = TestCase(_case_name(row), classname=f"{part}.{row.scenario}", time=row.real_s)
            case.system_out = f"{row.sentence}\n{row.command}\n{row.directory}"
            if row.counts_as is Verdict.INVALID:
                is_known = standing.get(row.key, RedStanding.NEW) is not RedStanding.NEW
                case.result = [Failure(row.sentence, "known red" if is_known else "new red")]
            elif row.counts_as is Verdict.ERROR:
                case.result = [Error(row.sentence, "error")]
            elif row.counts_as is not Verdict.VALID:
                case.result = [Skipped(row.sentence, row.counts_as.word)]
            suite.add_testcase(case)
        document.add_testsuite(suite)
    hidden = path.with_name(f".{path.name}.part")
    document.write(str(hidden))
    hidden.replace(path)


def _case_name(row: LedgerRow) -> str:
    planted = f" {row.mutation}" if row.mutation else ""
    again = f" again {row.attempt}" if row.attempt else ""
    return f"{row.subject_words}, {row.runtime}{planted}, seed {row.seed}{again}"


def _parts(night: Night) -> Iterator[tuple[str, list[LedgerRow]]]:
    for part in dict.fromkeys(row.part for row in night.rows):
        yield part, [row for row in night.rows if row.part == part]
