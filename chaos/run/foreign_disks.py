"""Disks of foreign nodes, judged by their contents only.

There is no record of clients' answers, of nodes' actions, or of faults. So checks of the quorum and
of partitions use what is there: those with nothing to judge are left out, and an accusation that
rests on missing evidence is only a suspicion.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from checkers import partitions, quorum
from checkers.all_checks import CHECKS
from checkers.check import Check
from checkers.disk.metadata_log import ALWAYS_COMPACTED
from checkers.disk.read import FoundDisks, read_nodes
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.missing import Missing
from checkers.history.sealed_run import Run, RunInfo
from checkers.history.tables import TABLES
from checkers.suite import judge
from checkers.verdict import CheckResult, Verdict, counted, worst

_QUORUM, _PARTITIONS = f"{quorum.__name__}.", f"{partitions.__name__}."
_UNCOMPACTED = ("partition-contiguous", "P11-replicas-agree")  # compaction leaves gaps
# Checks with premises that nodes may have from files of their own.
_CONFIGURED = {
    "E2-elr-below-min-isr": "min.insync.replicas",
    "E3-eligible-are-kept": "min.insync.replicas",
    "E7-elr-elected-with-empty-isr": "min.insync.replicas",
    "E8-nobody-else-is-elected": "unclean.leader.election.enable",
    "E9-unclean-leader-recovers": "unclean.leader.election.enable",
}
_ABSENT = {
    Kind.OPERATIONS: "the operations of clients, and their answers",
    Kind.FAULTS: "the faults",
    Kind.TRACES: "the traces of the nodes",
}
# There is no record of clients' requests to compare with.
_CHECKS = tuple(
    check
    for check in CHECKS
    if check.judges.__module__.startswith((_QUORUM, _PARTITIONS))
    and Kind.OPERATIONS not in check.rests_on
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisksJudged:
    """`results` are of checks that found something to judge; `missing` is the missing evidence."""

    directory: Path
    verdict: Verdict
    message: str
    nodes: Mapping[int, Sequence[Path]]
    results: Sequence[CheckResult]
    problems: Sequence[str]
    missing: Sequence[str]


def judge_disks(directory: Path, found: FoundDisks) -> DisksJudged:
    """Judge the disks below a directory."""
    tables: dict[str, pa.Table] = {name: each.empty_table() for name, each in TABLES.items()}
    tables |= read_nodes(found.by_node)
    compacted = _without_compacted(tables)
    problems = [*found.strange, *_problems(tables)]
    run = Run(directory=directory, info=_info(directory, found, tables), tables=tables)
    lacking = [Missing(kind=kind, where="disks alone", what=what) for kind, what in _ABSENT.items()]
    evidence = Evidence(run, lacking)
    judged = judge(evidence, _CHECKS).results
    logs = tables["log_batches"].num_rows + tables["replica_batches"].num_rows
    untold = {check.id: _untold(check, tables) for check in _CHECKS}
    results = [_suspicion(one, untold[one.check]) for one in judged if one.looked_at and logs]
    return DisksJudged(
        directory=directory,
        verdict=_verdict(results, problems),
        message=_message(results, problems),
        nodes=found.by_node,
        results=results,
        problems=problems,
        missing=_missing(found, evidence, tables, compacted),
    )


def _problems(tables: Mapping[str, pa.Table]) -> list[str]:
    """Unreadable or contradictory logs: damage, or a node's fault."""
    return [
        f"node {row['node']}{', ' + str(row['key']) if 'key' in row else ''}: {row['problem']}"
        for name in ("disks", "replicas")
        for row in tables[name].to_pylist()
        if row["problem"] is not None and row["problem"] != _NO_METADATA_LOG
    ]


_NO_METADATA_LOG = "no __cluster_metadata-0"  # brokers have one, too; reported where it is missing


def _info(directory: Path, found: FoundDisks, tables: Mapping[str, pa.Table]) -> RunInfo:
    """As a run that left only its disks."""
    with_log = set(tables["log_batches"]["node"].to_pylist())
    with_partitions = set(tables["replicas"]["node"].to_pylist())
    gives = [Kind.METADATA_LOGS] if with_log else []
    gives += [Kind.PARTITION_LOGS] if with_partitions else []
    return RunInfo(
        run_id=directory.name,
        scenario="",
        seed=0,
        target="disks",
        runtime="",
        nodes=len(found.by_node),
        duration_s=0.0,
        started_utc="1970-01-01T00:00:00+00:00",
        started_mono_ns=0,
        gives=tuple(gives),
        roles={str(node): "broker" for node in found.by_node}
        | {str(node): "broker,controller" for node in _voters(tables) or with_log},
    )


def _voters(tables: Mapping[str, pa.Table]) -> set[int]:
    """The voters as the first leader named them; other records change them."""
    records = tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange")).to_pylist()
    if not changes:
        return set()
    first = min(changes, key=lambda row: (row["epoch"], row["offset"]))
    return {voter["voterId"] for voter in json.loads(first["detail"])["voters"]}


def _tells_voters(tables: Mapping[str, pa.Table]) -> bool:
    types = set(tables["log_records"]["type"].unique().to_pylist())
    return bool(_voters(tables) or types & {"KRaftVoters", "AddVoter"})


def _untold(check: Check, tables: Mapping[str, pa.Table]) -> str:
    """The premise of this check that no record has, because nodes may have it from files of their
    own. "": none."""
    if check.id in _UNCOMPACTED and not tables["log_records"].num_rows:
        return "cleanup.policy"
    if check.judges.__module__.startswith(_QUORUM) and not _tells_voters(tables):
        return "the voters"
    config = _CONFIGURED.get(check.id, "")
    return "" if config in _told_of_all(tables) else config


def _told_of_all(tables: Mapping[str, pa.Table]) -> set[str]:
    """The cluster-wide configs; "" among them."""
    of_all = tables["log_records"].filter(
        pc.and_kleene(
            pc.equal(tables["log_records"]["type"], "Config"),
            pc.equal(tables["log_records"]["resource"], ""),
        )
    )
    return {"", *of_all["name"].to_pylist()}


def _suspicion(result: CheckResult, untold: str) -> CheckResult:
    if result.verdict is not Verdict.INVALID or not untold:
        return result
    message = f"only a suspicion, since no record has {untold}: {result.message}"
    return replace(result, verdict=Verdict.UNKNOWN, count=0, message=message)


def _verdict(results: Sequence[CheckResult], problems: Sequence[str]) -> Verdict:
    """Nothing judged, or not everything read: not valid."""
    found = worst(one.verdict for one in results)
    return worst([found, Verdict.UNKNOWN]) if problems else found


def _message(results: Sequence[CheckResult], problems: Sequence[str]) -> str:
    bad = [one for one in results if one.verdict is not Verdict.VALID]
    bad.sort(key=lambda one: -one.verdict.value)
    if bad and (bad[0].verdict is Verdict.INVALID or not problems):
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        return f"{bad[0].check}: {bad[0].message}{more}"
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return f"some of it is unreadable, or of another cluster: {problems[0]}{more}"
    if not results:
        return "nothing on these disks could be judged"
    return (
        f"{counted(len(results), 'check', 'checks')} of disks alone "
        f"{'holds' if len(results) == 1 else 'hold'}; clients' answers were not judged"
    )


def _without_compacted(tables: dict[str, pa.Table]) -> int:
    """Leave out replicas of compacted topics: each drops records on its own. Returns their number.

    Metadata records say which topics are compacted; without any, those that always are.
    """
    records = tables["log_records"]
    policies = records.filter(
        pc.and_kleene(
            pc.equal(records["name"], "cleanup.policy"),
            pc.match_substring(records["value"], "compact"),
        )
    )
    topics = set(policies["resource"].to_pylist()) | (set() if len(records) else ALWAYS_COMPACTED)
    keys = tables["replicas"]["key"].to_pylist()
    gone = pa.array([key for key in keys if key.rpartition("-")[0] in topics], pa.string())
    for name in ("replicas", "replica_batches", "replica_spans"):
        tables[name] = tables[name].filter(pc.invert(pc.is_in(tables[name]["key"], gone)))
    return len(gone)


def _missing(
    found: FoundDisks, evidence: Evidence, tables: Mapping[str, pa.Table], compacted: int
) -> list[str]:
    said = list(_ABSENT.values())
    if compacted:
        said.append(
            f"the contents of {counted(compacted, 'replica')} of compacted topics: left out"
        )
    without = [node for node in found.by_node if node not in evidence.metadata_logs]
    if without:
        said.append(f"the metadata log of {_of_nodes(without)}")
    if not _tells_voters(tables):
        said.append("the voters: assumed to be each node with a metadata log")
    elif absent := sorted(set(evidence.voters.newest.nodes) - set(found.by_node)):
        said.append(f"the disks of {_of_nodes(absent)}, which are voters as well")
    return said


def _of_nodes(nodes: Sequence[int]) -> str:
    return f"node{'' if len(nodes) == 1 else 's'} {', '.join(map(str, nodes))}"


def show_disks(judged: DisksJudged, *, as_json: bool) -> None:
    text = _as_json(judged) if as_json else _as_text(judged)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _as_json(judged: DisksJudged) -> str:
    content = {
        "file": str(judged.directory),
        "verdict": judged.verdict.word,
        "message": judged.message,
        "format": "disks of nodes",
        "nodes": {str(node): list(map(str, paths)) for node, paths in judged.nodes.items()},
        "checks": [
            {
                "check": one.check,
                "verdict": one.verdict.word,
                "message": one.message,
                "looked_at": one.looked_at,
                "witness": [dict(each) for each in one.witness],
            }
            for one in judged.results
        ],
        "problems": list(judged.problems),
        "missing": list(judged.missing),
    }
    return json.dumps(content)


def _as_text(judged: DisksJudged) -> str:
    width = max((len(one.check) for one in judged.results), default=0)
    lines = [
        f"{judged.directory}: {judged.verdict.word.upper()}: {judged.message}",
        f"  disks       of {_of_nodes(list(judged.nodes))}",
        *(
            f"  {one.verdict.word:<8} {one.check:<{width}}  {one.message}"
            for one in sorted(judged.results, key=lambda one: -one.verdict.value)
        ),
        *(f"  problem     {problem}" for problem in judged.problems),
        *(f"  not here    {what}" for what in judged.missing),
    ]
    return "\n".join(lines)
