"""Plants bugs in the nodes, and has the judge find each of them.

The correct node runs in the same scenarios: a judge that accuses every node finds everything. A
missed bug, a missed control, or an accused correct node is exit 1.

A copy of a run in which the disk of a last leader lacks one acknowledged record.

Final reads had it, and every offset, size and CRC of the image is right: only a comparison of the
disk with the clients' answers can show it.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from crc32c import crc32c

from chaos.cluster.targets.named import NODE
from chaos.errors import OperatorError
from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import perform
from chaos.run.planning import Choices, runtime_of, sparing_load
from chaos.run.seal import take, trace_lines
from chaos.scenario import SIM
from chaos.scenarios.controls import (
    NothingToDropError,
    without_an_acknowledged_write,
    without_its_record,
)
from chaos.selftest.kill_table import (
    SuspectKind,
    SuspectRow,
    SuspectTry,
    as_json,
    as_text,
    is_decided,
    trial_of,
)
from chaos.selftest.suspects import SelftestArguments, Suspect, suspects
from checkers.disk.batches import HEADER, HEADER_SIZE, Batch, read_batches
from checkers.disk.fields import Fields, decompressed
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, read_run_info, write_run_info
from checkers.history.store import MANIFEST, VERDICT, read_run
from checkers.suite import judge

_CODEC_BITS = 0x07
_CRC_FROM = 21  # the attributes: the CRC does not cover what is before them


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The removed record: its client, its node and partition."""

    node: int
    key: str
    offset: int


def without_its_record_at_the_leader(run: Path, copy: Path) -> Removed:
    """Copy a valid run of brokers, unsealed, to a new directory.

    Raises NothingToDropError where no image of a last leader holds an acknowledged record.
    """
    removed = _victim(read_run(run))
    shutil.copytree(run, copy)
    for derived in (MANIFEST, VERDICT):
        (copy / derived).unlink(missing_ok=True)  # so that the disks are read again
    for segment in _segments(copy, removed):
        data = segment.read_bytes()
        for batch in read_batches(data):
            if batch.base_offset <= removed.offset <= batch.last_offset:
                segment.write_bytes(_without(data, batch, removed.offset))
                collected_as_it_is(copy)
                return removed
    raise NothingToDropError(f"{run}: no segment of node {removed.node} holds {removed}")


def collected_as_it_is(copy: Path) -> None:
    """Make the inventory of a copy again: the cluster lost something, no evidence did
    afterwards."""
    info = read_run_info(copy)
    write_run_info(copy, replace(info, inventory_crc32c=take(copy), trace_lines=trace_lines(copy)))


def _victim(run: Run) -> Removed:
    """One from the middle: neither the first nor the last of its log."""
    evidence = Evidence(run)
    found, sent = evidence.timeline, evidence.acknowledged
    if found is None or not sent.num_rows:
        raise NothingToDropError(f"{run.info.run_id}: brokers acknowledged no record")
    row = sent.slice(sent.num_rows // 2, 1).to_pylist()[0]
    return Removed(node=found.last_leader(row["key"]), key=row["key"], offset=row["offset"])


def _segments(run: Path, removed: Removed) -> Iterator[Path]:
    disk = run / "disks" / f"node-{removed.node}"
    yield from sorted(disk.rglob(f"{removed.key}/*.log"))


def _without(segment: bytes, batch: Batch, offset: int) -> bytes:
    """The batch keeps its offsets, as after a compaction; if it had one record it is empty."""
    records = _records_but(batch, offset)
    before, after = segment[: batch.position], segment[batch.position + batch.size :]
    header = np.frombuffer(segment, HEADER, count=1, offset=batch.position).copy()
    header["attributes"] &= ~_CODEC_BITS
    header["records"] -= 1
    header["length"] += HEADER_SIZE + len(records) - batch.size
    header["crc"] = crc32c(header.tobytes()[_CRC_FROM:] + records)
    return b"".join((before, header.tobytes(), records, after))


def _records_but(batch: Batch, offset: int) -> bytes:
    """The record block, not compressed, without the record of an offset."""
    block = Fields(decompressed(batch.codec, batch.data))
    kept = b""
    for _ in range(batch.records):
        start = block.at
        body = Fields(block.take(block.varint()))
        body.int8()
        body.varint()
        if batch.base_offset + body.varint() != offset:
            kept += block.data[start : block.at]
    return kept


KEPT = "selftest.json"  # in the directory of runs, if all suspects were tried
_CONCURRENCY = 20
_OFF_THE_DISK = ("P10-leaders-hold-acknowledged", "P13-reads-are-stored")


def selftest(arguments: SelftestArguments) -> int:
    """0 if every planted bug was found by a check named for it, and the correct node by none."""
    progress = ConsoleProgress()
    runtime = runtime_of(arguments.runtime, progress.tell, arguments.target)
    arguments = replace(arguments, runtime=runtime)
    rows = [row_of(suspect, arguments, progress) for suspect in suspects(arguments)]
    if arguments.is_whole:
        rows += _damaged_records(rows) if arguments.target == NODE else _damaged_image(rows)
    kept = json.dumps(as_json(rows), indent=2)
    if arguments.is_whole and arguments.target == NODE:
        (arguments.out / KEPT).write_text(kept + "\n", encoding="utf-8")
    sys.stdout.write((kept if arguments.as_json else as_text(rows)) + "\n")
    return 0 if all(row.holds for row in rows) else 1


def _sound(rows: Sequence[SuspectRow]) -> list[SuspectRow]:
    """Valid runs, for controls that need no cluster. If there is none, that is reported, and is
    exit 1."""
    return [row for row in rows if row.kind is SuspectKind.CORRECT and row.holds]


def _damaged_records(rows: Sequence[SuspectRow]) -> list[SuspectRow]:
    """The records of a valid run, without an acknowledged write."""
    sound = _sound(rows)
    if not sound:
        return []
    run = read_run(Path(sound[0].last.directory))
    damages = (
        ("write dropped from the history", "linearizable", without_an_acknowledged_write),
        ("record dropped from the disks", "durability", without_its_record),
    )
    return [_damaged(sound[0], name, check, damage(run)) for name, check, damage in damages]


def _damaged(sound: SuspectRow, name: str, check: str, run: Run) -> SuspectRow:
    began = time.monotonic()
    judgement = judge(run)
    trial = trial_of(
        judgement,
        seed=sound.last.seed,
        seconds=time.monotonic() - began,
        directory=sound.last.directory,
    )
    return SuspectRow(
        kind=SuspectKind.CONTROL, id=name, scenario=sound.scenario, named=(check,), trials=(trial,)
    )


def _damaged_image(rows: Sequence[SuspectRow]) -> list[SuspectRow]:
    """A valid run of brokers, without an acknowledged record on its leader's disk."""
    sound = _sound(rows)
    if not sound:
        return []
    began, directory = time.monotonic(), Path(sound[0].last.directory)
    copy = directory.with_name(f"{directory.name}-without-a-record")
    without_its_record_at_the_leader(directory, copy)
    trial = trial_of(
        judge_directory(copy),
        seed=sound[0].last.seed,
        seconds=time.monotonic() - began,
        directory=str(copy),
    )
    return [
        SuspectRow(
            kind=SuspectKind.CONTROL,
            id="record removed from a disk",
            scenario=sound[0].scenario,
            named=_OFF_THE_DISK,
            trials=(trial,),
        )
    ]


def row_of(suspect: Suspect, arguments: SelftestArguments, progress: ConsoleProgress) -> SuspectRow:
    """Tried with consecutive seeds, from the requested one on."""
    trials: list[SuspectTry] = []
    for number in range(suspect.tries):
        trial = _try(suspect, arguments, arguments.seed + number)
        trials.append(trial)
        found = ", ".join((*trial.accusers, *trial.inside)) or trial.sentence
        name = f"{suspect.id}, {suspect.scenario}"
        progress.tell(f"{name}, try {number + 1}: {found} ({trial.seconds:.1f} s)")
        if is_decided(
            suspect.kind, suspect.named, trial, drawn=suspect.drawn, expected=suspect.expected
        ):
            break
    return SuspectRow(
        kind=suspect.kind,
        id=suspect.id,
        scenario=suspect.scenario,
        named=suspect.named,
        trials=tuple(trials),
        drawn=suspect.drawn,
        expected=suspect.expected,
    )


def _try(suspect: Suspect, arguments: SelftestArguments, seed: int) -> SuspectTry:
    began = time.monotonic()
    concurrency, rate = _load(suspect, arguments)
    ran = perform(
        Choices(
            scenario=suspect.scenario,
            seed=seed,
            nodes=suspect.nodes,
            duration_s=suspect.duration_s,
            settings=suspect.settings,
            concurrency=concurrency,
            rate=rate,
            target=arguments.target,
            runtime=arguments.runtime,
            mutation=suspect.id if suspect.kind is SuspectKind.MUTATION else "",
        ),
        arguments.out,
        ConsoleProgress(quiet=True),
    )
    if ran.interrupted:
        raise OperatorError("interrupted; what was found so far is in the lines above")
    seconds = time.monotonic() - began
    return trial_of(ran.judgement, seed=seed, seconds=seconds, directory=str(ran.directory))


def _load(suspect: Suspect, arguments: SelftestArguments) -> tuple[int | None, float]:
    """Clients and their rate; scenarios of brokers bring their own."""
    if arguments.target != NODE:
        return None, 0.0
    return sparing_load(suspect.scenario) if arguments.runtime == SIM else (_CONCURRENCY, 0.0)
