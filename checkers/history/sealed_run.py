"""A run in its directory: `run.json` and the sealed tables; JSON files for people; promises.

`inventory.json`: every file that was collected, with its size and CRC; `run.json` has the
inventory's own CRC. A later reader compares.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from crc32c import crc32c

from checkers.history.events import HistoryKind

# JSON files that people read as well: the output of `json.dumps`, in a tenth of its time.


_LAYOUT = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
_NO_JSON = ("NaN", "Infinity")  # numbers that only `json` can write


def laid_out(content: object, *, sort_keys: bool = False) -> bytes:
    """Indented by two, with a newline at the end; `json.loads` returns the same values.

    The fast library takes no names that are not UTF-8 (a file on a disk may have one) and no number
    of more than 64 bits, and makes NaN null: these are left to `json`.
    """
    plain = json.dumps(content)
    if not any(word in plain for word in _NO_JSON):
        try:
            return orjson.dumps(content, option=_LAYOUT | (orjson.OPT_SORT_KEYS * sort_keys))
        except TypeError:
            pass  # one of the three; its message does not say which
    return json.dumps(content, indent=2, sort_keys=sort_keys).encode() + b"\n"


LINEARIZABLE_READS = "linearizable-reads"  # a promise: a read returns the newest write
# A promise: a config that is set to null, or occurs twice in a resource, is refused. Kafka's
# brokers refuse it before they forward a request (ConfigAdminManager.preprocess); its controllers,
# asked directly, take null as a deletion, and the last of several values.
STRICT_CONFIGS = "strict-configs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """`run.json`: written when the run starts, and again when it ends.

    `started_mono_ns` is the zero of all times of the run; node traces carry the same machine's
    monotonic clock and are shifted by it. `finished` is false in a run that broke off.
    """

    run_id: str
    scenario: str
    seed: int
    target: str  # node 0.1.0, kafka 4.3.1
    runtime: str  # docker, sim
    nodes: int
    duration_s: float
    parameters: Mapping[str, str] = field(default_factory=dict)
    started_utc: str
    started_mono_ns: int
    duration_ns: int = 0
    finished: bool = False
    trouble: str = ""  # why the run did not end as planned, or its clean-up is incomplete
    fault_kinds: Sequence[str] = ()  # those that were planned; each of them has to bite
    timings_s: Mapping[str, float] = field(default_factory=dict)  # how long each phase took
    command: str = ""  # the command that repeats the run
    mutation: str = ""  # the bug that was planted in the nodes
    load: Mapping[str, Any] = field(default_factory=dict)  # the settings of the clients
    # Time-outs of the nodes, and the properties of a simulated run's network and disks.
    conditions: Mapping[str, float] = field(default_factory=dict)
    faults_overlap: bool = False  # several at a time: one may keep another from its effect
    # In a simulated run: the first breach of an invariant inside the nodes, as `invariant`, `what`,
    # `node` and `t_ns`.
    broken_invariant: Mapping[str, str | int] | None = None
    looked_at: Mapping[str, int] = field(default_factory=dict)  # judgements, by invariant
    workload: str = "register"  # what clients did: register, append, membership
    history: str = HistoryKind.REGISTERS  # decides which checks apply
    # Commit of the program, versions, ids of the images that the cluster's containers ran.
    made_of: Mapping[str, str] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)  # all that is needed to repeat the run
    gives: tuple[str, ...] = ()  # the kinds of evidence that it is planned to leave: `Kind`
    side: str = ""  # which side of the scenario's comparison
    # What this side is expected to show (`checkers.run.expectation`); empty if nothing is expected.
    expected: Mapping[str, Any] = field(default_factory=dict)
    # The roles of each node, by its number: "controller", "broker" or "broker,controller". Without
    # roles all are controllers.
    roles: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)  # of the target: elr, min_isr ...
    # What the target promises its clients beyond what every target promises.
    promises: Sequence[str] = (LINEARIZABLE_READS, STRICT_CONFIGS)
    stuck: str = ""  # what did not come about although all was healed and all processes ran
    stuck_for_sure: bool = False  # a slow machine is no excuse for it
    # The load of the machine: during the time in which nothing came about, else during the whole
    # run (`chaos.run.starvation`). Empty for a simulated run, in virtual time.
    pressure: Mapping[str, float] = field(default_factory=dict)
    # The same figures for each few seconds of the run, with `t_ns` and `until_ns`, in order.
    machine_load: Sequence[Mapping[str, float]] = ()
    # The harness's own parts that took long to answer it: `part`, `t_ns` and `until_ns`.
    slow_parts: Sequence[Mapping[str, str | int]] = ()
    last_words: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by node, where stuck
    planned_faults: int = 0
    faults_before_load: int = 0  # the first so many of them came before any client
    # Evidence without which the run shows nothing: trace events, or one of
    # `run.sides_led.OF_SIDES`.
    to_show: Sequence[str] = ()
    # The checks for which its scenario exists: if one has nothing to judge, the run is void.
    exists_for: Sequence[str] = ()
    # The lines that the recorder wrote, by type (`chaos.recorder`); None: the run broke off before.
    recorded: Mapping[str, int] | None = None
    # The clients' own count of their operations: invoked, ok, fail, info.
    counted: Mapping[str, int] | None = None
    # By kind of probe: how often the harness `looked`, and the `longest_gap_ms` in between.
    looks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # By node: the processes that the harness started and that answered.
    starts: Mapping[str, int] = field(default_factory=dict)
    # By node, what its last process did before logs and disks were collected: "stopped" in good
    # order, "killed" because it did not stop, "runs" on, "off" long before.
    endings: Mapping[str, str] = field(default_factory=dict)
    # Processes that ended, or could not start, although the harness did nothing to end them:
    # `node`, `t_ns`, `exit_code` and `words`, the end of its log; in order of time.
    unasked_ends: Sequence[Mapping[str, int | str]] = ()
    trace_lines: Mapping[str, int] = field(default_factory=dict)  # by node, in its collected log
    # Parts of the harness that died, were stopped or were starved, as `part`, `what` and since when
    # (`t_ns`): what is seen of nodes from then on accuses none of them.
    machinery: Mapping[str, str | int] = field(default_factory=dict)
    inventory_crc32c: int | None = None  # of `inventory.json`; None: nothing was collected

    @property
    def is_simulated(self) -> bool:
        """Whether the run is simulated: its seed gives the same bytes on every machine, so lost
        files can be made again, and none of them has to survive a power cut of this machine."""
        return self.runtime == "sim"


_KEY_LENGTH = 16  # of 64 hexadecimal digits: enough for 10^8 runs


def run_key(*, plan: Mapping[str, Any], commit: str, target: str, mutation: str, when: str) -> str:
    """Identifies a run among all others, by a hash of what it is and `when` it was made: the night
    and the attempt, or the moment.

    The run id of a simulated run is its seed's, and the same every night.
    """
    parts = [dict(plan), commit, target, mutation, when]
    return hashlib.sha256(laid_out(parts, sort_keys=True)).hexdigest()[:_KEY_LENGTH]


_OWN_CRC = "crc32c"  # the last entry: of all before it


def with_checksum(fields: Mapping[str, Any]) -> str:
    """The text of a JSON file with a checksum that shows whether it is as it was written."""
    whole = {**fields, _OWN_CRC: _crc_of(fields)}
    return laid_out(whole).decode()


def checked(path: Path, text: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The `fields` of a `text` that `with_checksum` wrote.

    Raises ValueError naming `path` if it is not as it was written.
    """
    own = fields.pop(_OWN_CRC, None)
    if own is None:
        raise ValueError(
            f"{path}: it has no checksum: it was cut, or written by an earlier version"
        )
    if own != _crc_of(fields) or not text.endswith("}\n"):
        raise ValueError(f"{path}: not as it was written: its checksum differs")
    return fields


def write_run_info(directory: Path, info: RunInfo) -> None:
    described = {each.name: getattr(info, each.name) for each in fields(info)}
    (directory / "run.json").write_text(with_checksum(described), encoding="utf-8")


def read_run_info(directory: Path) -> RunInfo:
    """Raises FileNotFoundError, or ValueError that says what is wrong with the file."""
    path = directory / "run.json"
    text = path.read_text(encoding="utf-8")
    try:
        fields = json.loads(text)
        info = RunInfo(**{name: value for name, value in fields.items() if name != _OWN_CRC})
    except (TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not a run's description: {error}") from error
    checked(path, text, fields)
    return info


def _crc_of(fields: Mapping[str, Any]) -> int:
    return crc32c(json.dumps(fields, sort_keys=True).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A sealed run in memory: one Arrow table for each schema in `tables.TABLES`."""

    directory: Path
    info: RunInfo
    tables: Mapping[str, pa.Table]
    truncated: tuple[str, ...] = ()  # files that were cut, with what was dropped
    # Collected files that changed since they were collected, and how.
    differs: Mapping[str, str] = field(default_factory=dict)
    # By table and node, the sealed rows of what nodes left.
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    broken_lines: Mapping[str, int] = field(default_factory=dict)  # by node, of its trace


INVENTORY = "inventory.json"
# A broker derives these from its segments, which are collected: megabytes that are never read.
DERIVED = (".index", ".timeindex", ".txnindex")
_BLOCK = 1 << 20

_Entries = Mapping[str, Mapping[str, int]]


class InventoryError(Exception):
    """The inventory itself was changed."""


def inventory_of(directory: Path) -> bytes:
    """The content of `inventory.json` for the files that are in a run's directory now."""
    entries = {name: _entry(directory / name) for name in evidence_files(directory)}
    return laid_out(entries, sort_keys=True)


def differences(directory: Path, own_crc32c: int) -> dict[str, str]:
    """Files that changed after they were collected, and how."""
    try:
        entries = _load(directory, own_crc32c)
    except InventoryError as error:
        return {INVENTORY: str(error)}
    found = {}
    for name, entry in entries.items():
        if what := _difference(directory / name, entry):
            found[name] = what
    return found


def has_any_file(directory: Path, own_crc32c: int) -> bool:
    """Whether any collected file is here: of an archived run there may be only the seal."""
    try:
        return any((directory / name).exists() for name in _load(directory, own_crc32c))
    except InventoryError:
        return next(evidence_files(directory), None) is not None


def evidence_files(directory: Path) -> Iterator[str]:
    """The names of files, as paths in a run's directory."""
    yield from sorted(path.name for path in directory.glob("events-*.jsonl.zst"))
    for below in ("logs", "disks"):
        if (directory / below).is_dir():
            yield from sorted(_below(str(directory), below))


def _below(directory: str, name: str) -> Iterator[str]:
    """Without a Path for each: disks of brokers hold hundreds of files."""
    with os.scandir(f"{directory}/{name}") as entries:
        for entry in entries:
            found = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _below(directory, found)
            elif entry.is_file() and not found.endswith(DERIVED):
                yield found


def _load(directory: Path, own_crc32c: int) -> _Entries:
    try:
        data = (directory / INVENTORY).read_bytes()
    except OSError as error:
        raise InventoryError(f"{error.strerror}") from error
    if crc32c(data) != own_crc32c:
        raise InventoryError("is not the one that run.json names")
    entries: _Entries = json.loads(data)
    return entries


def _entry(path: Path) -> dict[str, int]:
    return {"bytes": path.stat().st_size, "crc32c": _crc32c(path)}


def _difference(path: Path, entry: Mapping[str, int]) -> str:
    try:
        size = path.stat().st_size
    except OSError:
        return "is gone"
    if size != entry["bytes"]:
        return f"has {size:,} bytes of {entry['bytes']:,}"
    if _crc32c(path) != entry["crc32c"]:
        return "has other bytes than it had when it was collected"
    return ""


def _crc32c(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = crc32c(block, found)
    return found
