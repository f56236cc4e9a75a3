"""The pages of `kraft-chaos serve`: the list of runs, a directory's files, two runs compared.

The runs below some directories, as reports see them: each is intact, or says why not.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from chaos.campaign.comparing import differences, in_words
from checkers.page.document import Child, Markup, clipped, document, section, tag
from checkers.page.page_tables import check_table, fact_list, table
from checkers.suite import read_verdict
from checkers.verdict import Verdict, counted
from spark_reports.sealed_archive import SealedRun, examine, moment_of, run_directories

_Stamp = tuple[tuple[str, int, int], ...]  # name, time and size of each file


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run, or what is left of one. `name` is its path below what is served, and unique."""

    name: str
    directory: Path
    run: SealedRun | None
    sentence: str  # the verdict's, or why there is none
    verdict: Verdict | None
    is_as_expected: bool  # of a side of a comparison, which may expect losses

    @property
    def scenario(self) -> str:
        return self.run.scenario if self.run is not None else ""

    @property
    def target(self) -> str:
        return self.run.version if self.run is not None else ""

    @property
    def began(self) -> str:
        """`2026-11-28T18:24:22`; "" if unknown."""
        return moment_of(self.directory, self.run.info) if self.run is not None else ""

    @property
    def word(self) -> str:
        """Its verdict as a word of a query."""
        return self.verdict.word if self.verdict is not None else "unjudged"


class Listing:
    """The runs in `paths`, at any depth. A run is looked at again when one of its files changed; of
    those in its folders (logs, disks) only by a report."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path.resolve() for path in paths]
        self._known: dict[Path, tuple[_Stamp, ListedRun]] = {}

    def runs(self) -> list[ListedRun]:
        """All of them, the newest first; of the same moment, in order of their names."""
        found: dict[Path, tuple[_Stamp, ListedRun]] = {}
        for directory in run_directories(self._paths):
            stamp, known = _stamp(directory), self._known.get(directory)
            is_same = known is not None and known[0] == stamp
            found[directory] = known if known and is_same else (stamp, self._look(directory))
        self._known = found
        runs = sorted((run for _, run in found.values()), key=lambda run: run.name)
        return sorted(runs, key=lambda run: run.began, reverse=True)

    def _look(self, directory: Path) -> ListedRun:
        archive = examine([directory])
        for run in (*archive.runs, *archive.planted):
            return ListedRun(
                name=self._name(directory),
                directory=directory,
                run=run,
                sentence=run.sentence,
                verdict=run.verdict,
                is_as_expected=run.expected is not None and not run.mismatch,
            )
        skipped = archive.skipped[0]
        return ListedRun(
            name=self._name(directory),
            directory=directory,
            run=None,
            sentence=skipped.reason,
            verdict=skipped.verdict,
            is_as_expected=False,
        )

    def _name(self, directory: Path) -> str:
        """With the name of the served directory; where two have one name, with its whole path."""
        are_unlike = len({path.name for path in self._paths}) == len(self._paths)
        for path in self._paths:
            if directory.is_relative_to(path) and are_unlike:
                return directory.relative_to(path.parent).as_posix()
        return directory.as_posix().lstrip("/")


def _stamp(directory: Path) -> _Stamp:
    try:
        with os.scandir(directory) as inside:
            files = [(each.name, each.stat(follow_symlinks=False)) for each in inside]
    except OSError:  # it goes just now; what is left of it will be looked at again
        return ()
    return tuple(sorted((name, told.st_mtime_ns, told.st_size) for name, told in files))


ROWS = 100  # of one page of the list
_STRIP = 60  # runs of one scenario on one target, the newest ones
_LONGEST = 300  # characters of a sentence in the list
_VERDICTS = ("invalid", "error", "void", "unknown", "valid", "unjudged")
_COLUMNS = (
    ("compare", "fixed"),
    ("began (UTC)", "fixed"),
    ("verdict", "narrow"),
    ("scenario", "middling"),
    ("what it says", "wide"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What of the list is asked for; "" is everything. Pages are counted from 1."""

    text: str = ""
    verdict: str = ""
    scenario: str = ""
    target: str = ""
    page: int = 1

    @classmethod
    def of(cls, told: Mapping[str, str]) -> "Query":
        """From the query of a URL; what means nothing there is left out."""
        number = told.get("page", "")
        page = max(int(number), 1) if number.isdecimal() and len(number) < 9 else 1
        named = {name: told.get(name, "").strip() for name in ("text", "verdict", "scenario")}
        return cls(**named, target=told.get("target", "").strip(), page=page)

    def finds(self, run: ListedRun) -> bool:
        words = f"{run.name} {run.scenario} {run.target} {run.sentence}".casefold()
        return (
            all(word in words for word in self.text.casefold().split())
            and self.verdict in ("", run.word)
            and self.scenario in ("", run.scenario)
            and self.target in ("", run.target)
        )

    @property
    def href(self) -> str:
        told = {name: getattr(self, name) for name in ("text", "verdict", "scenario", "target")}
        told = {name: value for name, value in told.items() if value}
        if self.page > 1:
            told["page"] = str(self.page)
        return f"/?{urlencode(told)}" if told else "/"


def href_of(run: ListedRun, file: str = "") -> str:
    return f"/run/{quote(run.name)}/{quote(file)}"


# --- the list ---


def list_page(runs: Sequence[ListedRun], query: Query) -> str:
    """The runs that a query finds, the newest first; of one scenario also its history."""
    found = [run for run in runs if query.finds(run)]
    pages = max(-(-len(found) // ROWS), 1)
    page = min(query.page, pages)
    shown = found[(page - 1) * ROWS : page * ROWS]
    of_one = len({run.scenario for run in found}) == 1 and found[0].scenario
    body = [
        tag("h1", counted(len(found), "run")),
        tag("p", *_counts(found, query)),
        _search(runs, query),
        section("History", *_history(found)) if of_one else None,
        _table(shown)
        if shown
        else tag("p", "No run is like that. ", tag("a", "All runs", href="/")),
        tag("p", *_turn(replace(query, page=page), pages)) if pages > 1 else None,
    ]
    return document(f"{counted(len(found), 'run')} - kraft-chaos", body)


def _counts(found: Iterable[ListedRun], query: Query) -> Iterator[Child]:
    counts = Counter(run.word for run in found)
    for word in _VERDICTS:
        if counts[word]:
            text = f"{counts[word]:,} {word}"
            href = replace(query, verdict=word, page=1).href
            yield tag("a", tag("span", text, class_=f"word {word}"), href=href)
            yield " "
    if query.href != "/":
        yield tag("a", "all runs", href="/")


def _search(runs: Sequence[ListedRun], query: Query) -> Markup:
    words = tag("input", type="search", name="text", value=query.text, placeholder="words")
    choices = (
        ("verdict", _VERDICTS, query.verdict),
        ("scenario", sorted({run.scenario for run in runs} - {""}), query.scenario),
        ("target", sorted({run.target for run in runs} - {""}), query.target),
    )
    fields: list[Child] = [words, " "]
    for name, values, chosen in choices:
        options = [tag("option", f"any {name}", value="")]
        options += [
            tag("option", value, value=value, selected="" if value == chosen else None)
            for value in values
        ]
        fields += [tag("select", *options, name=name), " "]
    return tag("form", *fields, tag("button", "search"), method="get", action="/")


def _table(shown: Sequence[ListedRun]) -> Markup:
    rows = [("bad" if _is_bad(run) else "", _cells(run)) for run in shown]
    compare = tag("button", "compare the two")
    return tag("form", table(_COLUMNS, rows), tag("p", compare), method="get", action="/diff")


def _is_bad(run: ListedRun) -> bool:
    return run.word in ("invalid", "error") and not run.is_as_expected


def _cells(run: ListedRun) -> Sequence[Child]:
    radios = [
        tag("input", type="radio", name=name, value=run.name, aria_label=f"{name} of the two")
        for name in ("one", "other")
    ]
    return (
        Markup("".join(radios)),
        run.began.replace("T", " "),
        _word(run),
        Markup("".join(_scenario(run))),
        _said(run),
    )


def _scenario(run: ListedRun) -> Iterator[Markup]:
    if run.run is not None:
        yield tag("a", run.scenario, href=Query(scenario=run.scenario).href)
        yield tag("div", f"{run.target}, seed {run.run.info.seed}", class_="soft")


def _word(run: ListedRun) -> Markup:
    told = f"{run.word}, as expected" if run.is_as_expected else run.word
    return tag("span", told, class_=f"word {run.word}")


def _said(run: ListedRun) -> Markup:
    name = tag("a", run.name, href=href_of(run))
    return Markup(f"{tag('div', clipped(run.sentence, _LONGEST))}{tag('div', name, class_='soft')}")


def _history(found: Sequence[ListedRun]) -> Iterator[Markup]:
    """A cell for each run, by target, the oldest first; a title tells which run it is."""
    for target in sorted({run.target for run in found}):
        mine = [run for run in found if run.target == target][:_STRIP]
        cells = [
            tag(
                "a",
                "■",
                href=href_of(run),
                title=f"{run.began.replace('T', ' ')} {run.sentence}",
                class_=f"word {run.word}",
                style="text-decoration: none",
            )
            for run in reversed(mine)
        ]
        yield tag("p", f"{target} ", *cells)


def _turn(query: Query, pages: int) -> Iterator[Child]:
    if query.page > 1:
        yield tag("a", "newer", href=replace(query, page=query.page - 1).href)
    yield f" page {query.page} of {pages} "
    if query.page < pages:
        yield tag("a", "older", href=replace(query, page=query.page + 1).href)


# --- one run ---


def files_page(run: ListedRun, within: str, names: Sequence[str]) -> str:
    """The names in a directory of a run; those of directories end in a slash."""
    title = f"{run.name}/{within}"
    items = [tag("li", tag("a", name, href=href_of(run, f"{within}{name}"))) for name in names]
    body = [
        tag("h1", title),
        tag("p", run.sentence, class_="sentence"),
        tag("ul", *items),
        tag("p", tag("a", "all runs", href="/")),
    ]
    return document(title, body)


# --- two runs ---


def diff_page(one: ListedRun, other: ListedRun) -> str:
    """In what they differ, and the checks of both; a run that was not judged has none."""
    title = f"{one.name} and {other.name}"
    body: list[Child] = [tag("h1", "Two runs beside each other")]
    body.append(fact_list([(each.name, _linked(each)) for each in (one, other)]))
    if one.run is not None and other.run is not None and one.verdict and other.verdict:
        judged = [read_verdict(each.directory) for each in (one, other)]
        found = differences(one.run.info, judged[0], other.run.info, judged[1])
        body.append(section("What differs", _differences(one, other, found)))
        for each, judgement in zip((one, other), judged, strict=True):
            body.append(section(each.name, check_table(judgement.results)))
    else:
        body.append(tag("p", "Only two judged runs can be compared."))
    body.append(tag("p", tag("a", "all runs", href="/")))
    return document(title, body)


def _linked(run: ListedRun) -> Markup:
    return Markup(f"{_word(run)} {tag('a', run.sentence, href=href_of(run))}")


def _differences(
    one: ListedRun, other: ListedRun, found: Mapping[str, Mapping[str, tuple[Any, Any]]]
) -> Markup:
    if not found:
        return tag("p", "Nothing that counts differs.")
    columns = (("", "fixed"), ("", "middling"), (one.name, "wide"), (other.name, "wide"))
    rows = [
        ("", (part, name, *(in_words(value) for value in values)))
        for part, unlike in found.items()
        for name, values in unlike.items()
    ]
    return table(columns, rows)


# --- what is not there ---


def trouble_page(what: str) -> str:
    return document(what, [tag("h1", what), tag("p", tag("a", "all runs", href="/"))])
