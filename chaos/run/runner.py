"""One run, from an empty machine to a verdict.

    create - coming up - first acknowledged write - load and faults - heal - recovery - final reads
    by fresh clients - collect - destroy - seal - judge

After any failure or interruption the recorded events are sealed and judged, the verdict says what
happened, and nothing of the cluster stays on the machine.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

from chaos.cluster.cluster_errors import (
    DiedAtStartError,
    FailedPart,
    MachineryError,
    NeverReadyError,
    StepError,
)
from chaos.cluster.interface import (
    Cluster,
    Described,
    Guarded,
    Hosted,
    NodeId,
    SlowAnswer,
    UnaskedEnd,
    Watched,
)
from chaos.cluster.powers import Capturing
from chaos.interrupt import Interrupt, SignalledError, signals_raise
from chaos.nemesis.fault import Hit
from chaos.nemesis.nemesis import LeaderlessError, NeverBackError, SilentError, VotersStuckError
from chaos.progress import Progress
from chaos.recorder import Clock, Phases, Recorder
from chaos.releases import made_of, made_of_images
from chaos.run.experiment import Experiment, RunFailedError, StuckError, Timeouts, planned_evidence
from chaos.run.first_violation import first_violation
from chaos.run.judging import judge_directory, log_crash, not_judged
from chaos.run.plan import RunPlan
from chaos.run.plan_files import command_of, plan_as_json
from chaos.run.rundir import run_name
from chaos.run.seal import collect
from chaos.run.starvation import HELD_UP_S, MachineWatch
from chaos.scenario import SIM
from checkers.history.sealed_run import RunInfo, write_run_info
from checkers.verdict import Judgement, Verdict

# The last lines of each node's collected logs.


LAST_LINES = 3
_LONGEST = 300


def last_words(directory: Path, nodes: int) -> dict[str, list[str]]:
    """The last lines of each node's error output, or of its log where that is empty."""
    return {str(node): _last_lines(directory / "logs", node) for node in range(1, nodes + 1)}


def _last_lines(logs: Path, node: int) -> list[str]:
    for suffix in ("err", "log"):
        path = logs / f"node-{node}.{suffix}"
        if path.exists() and path.stat().st_size:
            with path.open(encoding="utf-8", errors="replace") as lines:
                last = deque((line.strip() for line in lines if line.strip()), LAST_LINES)
            return [line[:_LONGEST] for line in last]
    return []


# The cluster does not recover though all nodes run; the judge decides whether a slow machine
# excuses it.
_STUCK = (LeaderlessError, NeverReadyError, SilentError, StuckError, VotersStuckError)
_STOP_S = 15.0
_COLLECT_S = 60.0
_DESTROY_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A cluster that stays as a failed run left it, with the faults that last."""

    cluster: str
    nodes: Sequence[NodeId]
    lasting: Sequence[Hit]


class Runner:
    """Carries out one plan on one cluster, into one directory. Used once."""

    def __init__(
        self,
        *,
        plan: RunPlan,
        cluster: Cluster,
        directory: Path,
        clock: Clock,
        progress: Progress,
        interrupt: Interrupt,
        syncs: bool = True,
        page: bool = True,
        timeouts: Timeouts | None = None,
    ) -> None:
        """`syncs`: events are synced, and survive a crash of this machine. `page`: write the HTML
        page."""
        self._plan = plan
        self._cluster = cluster
        self._directory = directory
        self._clock = clock
        self._progress = progress
        self._interrupt = interrupt
        self._syncs = syncs
        self._page = page
        self._timeouts = timeouts or Timeouts(whole_s=plan.scenario.whole_s)
        self._phases = Phases(clock, progress)
        self._troubles: list[str] = []
        self._info = self._describe()
        self._note_cluster()
        self._machine = MachineWatch()
        self._failed_part: FailedPart | None = None
        self._lasting: Sequence[Hit] = ()
        self.kept: Kept | None = None

    async def run(self) -> Judgement:
        """The verdict; all files are in the directory. Raises OSError where they cannot be
        written."""
        write_run_info(self._directory, self._info)
        if self._plan.keep_on_failure:
            return await self._run_and_keep_the_failed()
        try:
            await self._recorded()
        finally:  # also with a full disk: nothing is left behind on the machine
            # Before judging, which blocks this loop.
            await self._remove()
        return self._judge()

    async def _run_and_keep_the_failed(self) -> Judgement:
        """The verdict decides whether the cluster stays; that of an interrupted run does not."""
        try:
            await self._recorded()
            judgement = self._judge()
            if judgement.verdict is not Verdict.VALID and self._may_be_kept:
                self.kept = Kept(
                    cluster=self._plan.cluster_name,
                    nodes=self._cluster.nodes,
                    lasting=self._lasting,
                )
        finally:
            if self.kept is None:
                await self._remove()
        return judgement

    async def _recorded(self) -> None:
        finished = await self._record()
        if not finished:
            await self._note_machinery()
        elif (held_up := self._held_up()) is not None:
            self._note_failed(held_up)
        self._info = replace(self._info, finished=finished, duration_ns=self._clock.now_ns())
        await self._collect()
        self._note_broken_invariant()
        self._note_machine()
        self._write_info()

    async def _note_machinery(self) -> None:
        """A part of the harness that died may have caused the failure: then it is the reason,
        whatever was reported first."""
        failed = self._failed_part or self._held_up()
        if failed is None and isinstance(self._cluster, Guarded):
            failed = await self._cluster.failed_part()
        if failed is not None:
            self._note_failed(failed)

    def _held_up(self) -> FailedPart | None:
        """Clients and recorder live in this process: whether it was stopped for long."""
        late_s, due_s = self._machine.longest_late()
        if late_s < HELD_UP_S:
            return None
        return FailedPart(
            part="the harness, with its clients and its recorder,",
            what=f"was stopped, or not scheduled, for {late_s:.1f} s",
            since_ns=int(due_s * 1e9),
            mend="run it again, on a machine that has time for it",
        )

    def _note_failed(self, failed: FailedPart) -> None:
        since_ns = failed.since_ns - self._info.started_mono_ns
        told: dict[str, str | int] = {"part": failed.part, "what": failed.what, "t_ns": since_ns}
        if str(failed) not in "".join(self._troubles):
            self._troubles.insert(0, str(failed))
            self._progress.tell(f"trouble: {failed}")
        self._info = replace(self._info, machinery=told, stuck="", stuck_for_sure=False)

    def _note_machine(self) -> None:
        """Starvation while the cluster was stuck, with the last lines of nodes; else over the whole
        run."""
        if self._info.stuck:
            words = last_words(self._directory, self._info.nodes)
            self._info = replace(self._info, last_words=words)
        else:
            self._info = replace(self._info, pressure=self._machine.figures(inf))
        self._info = replace(
            self._info,
            machine_load=[self._in_run(each) for each in self._machine.stretches()],
            slow_parts=[self._slow(each) for each in _slow_answers(self._cluster)],
        )

    def _in_run(self, stretch: Mapping[str, float]) -> dict[str, float]:
        """By the time of the run, which a stretch may begin before."""
        figures = dict(stretch)
        started = self._info.started_mono_ns
        times = [int(figures.pop(name) * 1e9) - started for name in ("t_s", "until_s")]
        return {"t_ns": max(times[0], 0), "until_ns": max(times[1], 0), **figures}

    def _slow(self, answer: SlowAnswer) -> dict[str, str | int]:
        started = self._info.started_mono_ns
        begin, end = answer.asked_ns - started, answer.answered_ns - started
        return {"part": answer.part, "t_ns": begin, "until_ns": end}

    def _note_broken_invariant(self) -> None:
        if not isinstance(self._cluster, Watched):
            return
        broken = self._cluster.broken_invariant
        self._info = replace(self._info, looked_at=dict(self._cluster.looked_at))
        if broken is not None:
            self._info = replace(self._info, broken_invariant=asdict(broken))

    def _judge(self) -> Judgement:
        """A signal ends this at once: the cluster is gone, and the record can be judged later."""
        self._write_info()
        self._progress.status("judging ... ")
        try:
            with signals_raise(self._interrupt):
                return judge_directory(self._directory, page=self._page)
        except SignalledError as signalled:
            return not_judged(self._directory, self._info.run_id, str(signalled))

    def _write_info(self) -> None:
        self._info = replace(
            self._info, trouble="; ".join(self._troubles), timings_s=dict(self._phases.timings_s)
        )
        write_run_info(self._directory, self._info)

    def _describe(self) -> RunInfo:
        plan, cluster = self._plan, self._cluster
        wall_ns = self._clock.wall_ns()
        started = datetime.fromtimestamp(wall_ns / 1e9, UTC)
        # A simulated run's directory is named by this machine's time, its bytes have its seed's.
        simulated = plan.runtime == SIM
        run_id = (
            run_name(plan.scenario.name, plan.seed, wall_ns) if simulated else self._directory.name
        )
        return RunInfo(
            run_id=run_id,
            scenario=plan.scenario.name,
            seed=plan.seed,
            target=cluster.version,
            runtime=plan.runtime,
            nodes=len(cluster.nodes),
            duration_s=plan.duration_s,
            parameters=_parameters(plan),
            started_utc=started.isoformat(timespec="milliseconds"),
            started_mono_ns=self._clock.started_mono_ns,
            fault_kinds=sorted({fault.kind for fault in plan.faults}),
            command=command_of(plan, run_id),
            plan=plan_as_json(plan),
            mutation=plan.mutation,
            side=plan.side,
            expected=plan.expected.as_json() if plan.expected else {},
            workload=plan.workload.name,
            history=plan.workload.history,
            gives=planned_evidence(self._cluster, plan),
            load=asdict(plan.load),
            conditions=plan.conditions.as_json(),
            faults_overlap=plan.drawn().side_by_side,
            planned_faults=len(plan.faults),
            faults_before_load=len(plan.faults_before_load),
            to_show=plan.scenario.to_show,
            exists_for=plan.scenario.exists_for,
            made_of=made_of(this_machine=not simulated),
        )

    async def _record(self) -> bool:
        """Run the experiment until it ends or fails; returns whether it ended well."""
        with Recorder(self._directory, self._clock, syncs=self._syncs) as recorder:
            task = asyncio.create_task(self._experiment(recorder))
            asked = asyncio.create_task(self._interrupt.wait())
            machine = None
            if self._plan.runtime != SIM:  # its time is virtual, and no timer is late
                machine = asyncio.create_task(self._machine.watch())
            ends: set[asyncio.Task[Any]] = {task, asked}
            if self._plan.stop_at_first:
                ends.add(asyncio.create_task(self._violation(recorder)))
            done, going_on = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for each in going_on - {task}:
                await _cancel(each)
            if machine is not None:
                machine.cancel()
            if not task.done():
                self._trouble(
                    f"interrupted by {self._interrupt.signal_name} while {self._phases.current}"
                    if asked in done
                    else self._why_stopped(*done)
                )
                await _cancel(task)
                if task.done() and not task.cancelled() and (error := task.exception()):
                    self._trouble(self._explain(error))
            elif (error := task.exception()) is not None:
                self._note_end(error)
            recorder.note("; ".join(self._troubles) or "the experiment ended")
            self._info = replace(self._info, recorded=dict(recorder.counts))
        return not self._troubles and not self._info.stuck

    async def _violation(self, recorder: Recorder) -> str:
        return await first_violation(self._directory, recorder)

    def _why_stopped(self, look: "asyncio.Task[str]") -> str:
        if (error := look.exception()) is not None:
            return self._explain(error)
        return f"stopped at the first violation while {self._phases.current}, {look.result()}"

    def _note_end(self, error: BaseException) -> None:
        """A stuck cluster is no failure of the harness: the judge decides on the blame."""
        if self._info.stuck:
            log_crash(self._directory, error)
            self._progress.tell(f"stuck: {self._info.stuck}")
        else:
            self._trouble(self._explain(error))

    def _trouble(self, what: str) -> None:
        self._troubles.append(what)
        self._progress.tell(f"trouble: {what}")

    def _explain(self, error: BaseException) -> str:
        """One sentence for the operator; the traceback goes to the run's directory."""
        log_crash(self._directory, error)
        error = _first(error)
        if isinstance(error, MachineryError):
            self._failed_part = error.failed
        named = isinstance(error, RunFailedError | MachineryError)
        name = "" if named else f"{type(error).__name__}: "
        return f"{name}{error} (while {self._phases.current})"

    async def _experiment(self, recorder: Recorder) -> None:
        """Errors that no node caused are raised as they are; others are noted before."""
        try:
            await self._create()
            await self._experimented(recorder)
        except* (DiedAtStartError, NeverBackError, StepError) as dead:
            self._note_stuck(_in_a_line(_first(dead)), for_sure=True)
            raise
        except* _STUCK as stuck:
            self._note_stuck(_in_a_line(_first(stuck)), for_sure=self._plan.runtime == SIM)
            raise

    async def _create(self) -> None:
        with self._phases.timed("create", "creating the cluster"):
            if self._plan.coming_up is None and not self._plan.pcap:
                await self._cluster.create()
            else:
                await self._cluster.prepare()
            if self._plan.pcap:
                assert isinstance(self._cluster, Capturing), "refused by the plan"
                await self._cluster.capture()
                if self._plan.coming_up is None:
                    await self._cluster.start_all()
                    await self._cluster.until_ready()
        self._tell_reaped()
        self._note_images()

    async def _experimented(self, recorder: Recorder) -> None:
        experiment = Experiment(
            self._plan,
            self._cluster,
            recorder,
            self._phases,
            directory=self._directory,
            timeouts=self._timeouts,
        )
        try:
            await experiment.run()
        finally:
            self._lasting = experiment.lasting
            self._info = replace(self._info, counted=experiment.counted, looks=experiment.looks)

    def _note_stuck(self, what: str, *, for_sure: bool) -> None:
        figures = self._machine.figures(self._timeouts.write_s)
        self._info = replace(self._info, stuck=what, stuck_for_sure=for_sure, pressure=figures)

    def _note_cluster(self) -> None:
        """The roles of its nodes, before it is created: if creation fails, the rest of it is judged
        all the same."""
        if isinstance(cluster := self._cluster, Described):
            self._info = replace(
                self._info,
                roles={str(node): str(roles) for node, roles in cluster.roles.items()},
                settings=dict(cluster.settings),
                promises=tuple(cluster.promises),
            )

    def _note_images(self) -> None:
        """The versions of its parts, which are not certain before it is created."""
        if isinstance(self._cluster, Described):
            images = made_of_images(self._cluster.images)
            self._info = replace(self._info, made_of={**self._info.made_of, **images})

    def _tell_reaped(self) -> None:
        for dead in self._cluster.reaped if isinstance(self._cluster, Hosted) else ():
            done = dead.trouble or f"removed the leftovers of the dead run {dead.run_id}"
            self._phases.tell(f"{done}\n          its nodes' logs: {dead.saved}")

    async def _collect(self) -> None:
        """Logs and disks; not of a cluster that was interrupted during creation."""
        if self._created or not self._interrupt.asked:
            with self._phases.timed("collect", "collecting logs and disks"):
                await self._bounded(
                    "collect", self._collect_and_count(), _COLLECT_S, quiet=not self._created
                )

    async def _collect_and_count(self) -> None:
        if self._plan.pcap and isinstance(self._cluster, Capturing):
            await self._cluster.captured(self._directory / "pcap")
        collected = await collect(
            self._cluster, self._directory, keeps=self._plan.may_stay, syncs=self._syncs
        )
        self._info = replace(
            self._info,
            endings=collected.endings,
            starts=collected.starts,
            trace_lines=collected.trace_lines,
            unasked_ends=[self._told(end) for end in collected.unasked_ends],
            inventory_crc32c=collected.inventory_crc32c,
        )

    def _told(self, end: UnaskedEnd) -> dict[str, int | str]:
        return {
            "node": end.node,
            "t_ns": end.mono_ns - self._info.started_mono_ns,
            "exit_code": end.exit_code,
            "words": end.words,
            "told_to_stop": end.told_to_stop,
            "halted": end.halted,
        }

    async def _remove(self) -> None:
        if self._plan.keep and self._may_be_kept:
            self._progress.tell(f"kept: kraft-chaos down {self._plan.cluster_name}")
            return
        with self._phases.timed("destroy", "removing the cluster"):
            await self._bounded("destroy", self._cluster.destroy(), _DESTROY_S)

    @property
    def _may_be_kept(self) -> bool:
        return self._created and not self._interrupt.asked

    @property
    def _created(self) -> bool:
        return "create" in self._phases.timings_s

    async def _bounded(
        self,
        what: str,
        act: Coroutine[None, None, None],
        seconds: float,
        *,
        quiet: bool = False,
    ) -> None:
        """Do it within the time; a failure is reported in the verdict, and the next step goes on.

        `quiet`: no report where an earlier failure explains that there is nothing.
        """
        task = asyncio.create_task(act)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()
            problem = f"{what} did not end within {seconds:g} s"
        elif (error := task.exception()) is not None:
            problem = f"{what}: {self._explain(error)}"
        else:
            return
        if not quiet:
            self._trouble(problem)


def _slow_answers(cluster: Cluster) -> Sequence[SlowAnswer]:
    return cluster.slow_answers if isinstance(cluster, Guarded) else ()


def _first(error: BaseException) -> BaseException:
    """The errors in a group, also in nested ones."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _in_a_line(error: BaseException) -> str:
    """What happened, and the last lines of the nodes concerned."""
    what, *lines = str(error).splitlines()
    # Indented lines after an error are its place and the next step.
    words = [line for line in lines if line and not line[0].isspace()]
    return f"{what}: {words[-1]}" if words else what


def _parameters(plan: RunPlan) -> dict[str, str]:
    rate = f"{plan.load.rate:g} operations/s" if plan.load.rate else "no limit"
    chosen = {"concurrency": str(plan.load.concurrency), "rate": rate}
    return {**chosen, "mutation": plan.mutation} if plan.mutation else chosen


async def _cancel(task: "asyncio.Task[Any]") -> None:
    """Bounded: a call that hangs in a thread is left behind."""
    task.cancel()
    await asyncio.wait({task}, timeout=_STOP_S)
