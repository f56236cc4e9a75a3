"""One life of one broker, followed step by step, with the trace of each high watermark."""

from collections.abc import Mapping, Sequence
from typing import NoReturn, Self
from uuid import UUID

from chaos.cluster.sim.invariants.broker_answers import BrokerAnswers, ReadClock
from chaos.cluster.sim.invariants.broker_watch import (
    Begun,
    BrokerWatch,
    KeptReplicas,
    LedByIsr,
    key_of,
)
from chaos.cluster.sim.invariants.committed_changes import Claim, IsrJoin, Key
from chaos.cluster.sim.invariants.known_batches import NOTHING, cut, holds
from chaos.cluster.sim.invariants.rules import Broken, Heard, InvariantViolated
from node.broker.broker import Broker
from node.broker.replicas.manager import HostedPartition
from node.broker.replicas.replica import Leading
from node.effects import (
    AppendBatches,
    CreateLogs,
    RaiseLogStarts,
    RemoveLog,
    RestartLog,
    Trace,
    TraceValue,
    TruncateLog,
)
from node.ids import METADATA_LOG, ConnectionId, LogId, NodeId, Offset, parse_uuid
from node.outbox import Output, ResponseTo
from node.records.batch import read_header
from node.storage.log_directories import LogDirectories
from node.storage.view import LogView

_LOOKED_AT = frozenset(
    (AppendBatches, CreateLogs, RaiseLogStarts, RemoveLog, RestartLog, Trace, TruncateLog)
)

# The trace of each rise of a high watermark.
_MOVED = ("P8-moved-with-min-isr", "P11-replicas-agree", "P12-high-watermark-rises")


class WatchedBroker:
    def __init__(
        self,
        watch: BrokerWatch,
        held: KeptReplicas,
        names: Mapping[LogId, UUID],
        read_clock: ReadClock,
    ) -> None:
        """`names`: the existing logs, with their topics."""
        self._watch = watch
        self._held = held
        self._looked = watch.looked
        self._answers = BrokerAnswers(watch, held, read_clock)
        self._keys = {log: key_of(log, topic) for log, topic in names.items()}
        # Those that may have records: a broker may have thousands that have none.
        self._filled = dict.fromkeys(self._keys.values())
        self._steps = 0
        self._is_registered = False

    @classmethod
    def begin(
        cls,
        watch: BrokerWatch,
        node: NodeId,
        broker: Broker,
        metadata: LogView,
        found: LogDirectories,
        at_ns: int,
        read_clock: ReadClock,
    ) -> Self:
        """A process has opened its logs, and has not started yet. `read_clock`: its own monotonic
        clock, in ns. Raises InvariantViolated."""
        held = watch.begin(node, broker, metadata)
        life = cls(watch, held, {log: found[log].topic for log in found}, read_clock)
        try:
            watch.find(held, found)
            life._filled = {key: None for key, log in held.logs.items() if log.end > 0}
        except Broken as broken:
            life._blame(broken, at_ns)
        return life

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """All effects of the step were performed. Raises InvariantViolated."""
        self._steps += 1
        held, answers = self._held, []
        held.begin_step()
        try:
            self._watch.changes.follow(held.metadata, held.applied, held.image)
            for output in outputs:
                if type(output) in _LOOKED_AT:
                    self._heed(output)
                elif type(output) is ResponseTo:
                    answers.append(output)
            self._keep_up()
            for answer in answers:
                self._answers.judge(answer)
        except Broken as broken:
            self._blame(broken, at_ns)

    def hear(self, connection: ConnectionId, request: object, mono_ns: int) -> None:
        """It gets that request in the next step, at that time by its own clock."""
        self._answers.hear(connection, Heard(request, self._steps + 1, mono_ns))

    def forget(self, connection: ConnectionId) -> None:
        """The client no longer waits there."""
        self._answers.forget(connection)

    def _blame(self, broken: Broken, at_ns: int) -> NoReturn:
        held, step = self._held, self._steps
        raise InvariantViolated(
            broken, node=held.node, life=held.life, step=step, at_ns=at_ns
        ) from broken

    def _heed(self, output: Output) -> None:
        match output:
            case AppendBatches(log=log, data=data) if log != METADATA_LOG:
                self._append(self._keys[log], data)
            case TruncateLog(log=log, end=end) if log != METADATA_LOG:
                self._truncate(self._keys[log], end)
            case CreateLogs(logs=new):
                for each in new:
                    key = self._keys[each.log] = key_of(each.log, each.topic)
                    self._held.logs[key] = NOTHING
                    self._held.log_starts[key] = Offset(0)
            case RaiseLogStarts(starts=starts):
                for log, start in starts.items():
                    self._begin_at(self._keys[log], start)
            case RestartLog(log=log, start=start):
                self._restart(self._keys[log], start)
                self._filled[self._keys[log]] = None
            case RemoveLog(log=log):
                key = self._keys.pop(log)
                del self._held.logs[key]
                self._filled.pop(key, None)
            case Trace(event="n.rotten"):
                self._held.is_damaged = True
            case Trace(event="p.role", fields=fields):
                self._begin(fields)
            case Trace(event="p.isr", fields=fields):
                self._lead_by(_key(fields), _isr(fields))
            case Trace(event="p.join", fields=fields):
                self._join(fields)
            case Trace(event="p.hwm", fields=fields):
                self._move(fields)
            case Trace(event="b.life", fields=fields):
                self._live(fields)
            case Trace(event="p.truncate", fields=fields):
                self._cut(fields)
            case _:
                pass

    # --- its logs ---

    def _append(self, key: Key, data: bytes) -> None:
        log, batches, position = self._held.logs[key], self._watch.partition(key).batches, 0
        self._held.logs_before.setdefault(key, log)
        of_groups = self._watch.is_of_groups(key)
        self._filled[key] = None
        while position < len(data):
            header = read_header(data, position)
            log = batches.append(log, header)
            if of_groups:
                self._watch.commits.note(key, log, data[position : position + header.size])
            position += header.size
        self._held.logs[key] = log

    def _truncate(self, key: Key, end: Offset) -> None:
        log, promised = self._held.logs[key], self._watch.promised(key, self._held.image)
        partition = self._watch.partition(key)
        self._held.logs_before.setdefault(key, log)
        if promised is not None:
            self._looked["P16-no-committed-record-cut"] += 1
            partition.truncate(self._held.node, log, end, promised)
        self._held.logs[key] = cut(log, end)

    def _restart(self, key: Key, start: Offset) -> None:
        """Deleted records of those shown count as held; a start below the own log's is a
        truncation."""
        log = self._held.logs[key]
        if start < log.end:
            self._truncate(key, start)
        else:
            self._held.logs[key] = self._watch.partition(key).before(start)
        self._begin_at(key, start)

    def _begin_at(self, key: Key, start: Offset) -> None:
        held = self._held
        held.starts_before.setdefault(key, held.log_starts[key])
        held.log_starts[key] = start

    # --- what it traces ---

    def _cut(self, fields: Mapping[str, TraceValue]) -> None:
        """A truncation is about to be done. All below the high watermark that it uses is
        committed."""
        key, end, mark = _key(fields), _number(fields, "end"), _number(fields, "hwm")
        promised = self._watch.promised(key, self._held.image)
        if promised is not None and end < mark:
            partition, log = self._watch.partition(key), self._held.logs[key]
            partition.check_cut(self._held.node, log, end, mark, promised)

    def _begin(self, fields: Mapping[str, TraceValue]) -> None:
        key = _key(fields)
        held = self._held
        held.isrs.pop(key, None)
        held.marks[key] = _number(fields, "hwm")
        held.begun_before.setdefault(key, held.begun.get(key))
        held.begun[key] = Begun(
            step=self._steps,
            epoch=_number(fields, "epoch"),
            leads=fields["role"] == "leader",
            end=_number(fields, "end"),
        )
        promised = self._watch.promised(key, held.image)
        if fields["role"] == "leader" and promised is not None:
            life, log = (held.node, held.life), held.logs[key]
            self._looked["P1-one-leader-per-epoch"] += 1
            self._looked["P10-leaders-hold-acknowledged"] += 1
            self._watch.partition(key).lead(life, held.begun[key].epoch, log, promised)

    def _lead_by(self, key: Key, isr: LedByIsr) -> None:
        held = self._held
        if key in held.isrs:
            held.isrs_before.setdefault(key, held.isrs[key])
        held.isrs[key] = isr

    def _join(self, fields: Mapping[str, TraceValue]) -> None:
        """Judged by the follower's real log, not by what its leader believes of it."""
        key, broker = _key(fields), NodeId(_number(fields, "replica"))
        for rule in ("P4-joined-by-this-life", "P5-joined-with-all"):
            self._looked[rule] += 1
        joining = IsrJoin(
            key=key,
            leader_epoch=_number(fields, "epoch"),
            partition_epoch=_number(fields, "partition_epoch"),
            replica=broker,
        )
        self._watch.changes.propose(joining, _number(fields, "broker_epoch"))
        log = self._watch.log_of(key, broker, _number(fields, "broker_epoch"))
        needed = cut(
            self._held.logs[key], Offset(max(self._held.marks[key], self._held.begun[key].end))
        )
        if log is not None and not holds(log, needed):
            what = f"n{self._held.node} proposes n{broker} for the ISR of "
            what += f"{self._watch.partition(key).name}, and its log is {log}, without {needed}"
            raise Broken("P5-joined-with-all", what)

    def _live(self, fields: Mapping[str, TraceValue]) -> None:
        """Once it knows its broker epoch."""
        epoch, held = _number(fields, "epoch"), self._held
        if epoch != -1 and not self._is_registered:
            self._is_registered = True
            for rule in ("E5-unclean-registration-drops", "E6-lost-bytes-are-not-clean"):
                self._looked[rule] += 1
            claim = Claim(previous=_number(fields, "previous"), lost=held.lost)
            self._watch.changes.claim(held.node, epoch, claim)

    def _move(self, fields: Mapping[str, TraceValue]) -> None:
        """A leader's high watermark: P8 and P12 by its own log, the others by those of all
        brokers."""
        key, mark = _key(fields), Offset(_number(fields, "hwm"))
        held = self._held
        log, before, isr = held.logs[key], held.marks[key], held.isrs[key]
        partition, node = self._watch.partition(key), held.node
        held.marks_before.setdefault(key, before)
        held.marks[key] = mark
        for rule in _MOVED:
            self._looked[rule] += 1
        where = f"n{node} moves the high watermark of {partition.name} from {before} to {mark}"
        if not before <= mark <= log.end:
            raise Broken("P12-high-watermark-rises", f"{where}; its log ends at {log.end}")
        own = self._watch.promised(key, self._held.image)
        if own is not None and len(isr.committed) < own.min_isr:
            isr_text = f"with the ISR {sorted(isr.committed)}, and min ISR is {own.min_isr}"
            raise Broken("P8-moved-with-min-isr", f"{where} {isr_text}")
        epoch = _number(fields, "epoch")
        partition.show(node, epoch, log, mark)
        self._compare_with_newest(key, epoch, isr, where)

    def _keep_up(self) -> None:
        """P18, for all that it leads: by its current image, and what followers have sent it."""
        for key in self._filled:
            held = self._held.broker.replicas.by_key(key)
            if held is None:
                continue
            replica, leading = held.replica, held.replica.leading
            if leading is not None and replica.high_watermark < replica.end:
                self._keep_up_with_all(held, leading)

    def _keep_up_with_all(self, held: HostedPartition, leading: Leading) -> None:
        replica, isr = held.replica, self._held.isrs.get(held.key)
        if isr is None or _waits_for_one(isr, leading, replica.high_watermark):
            return
        own = self._watch.promised(held.key, self._held.image)
        if own is None:
            return
        followers = {
            broker: follower.end
            for broker, follower in leading.followers.items()
            if broker in isr.maximal or self._held.image.brokers.is_active(broker)
        }
        ends = {broker: end for broker, end in followers.items() if end is not None}
        if len(ends) == len(followers) and len(isr.committed) >= own.min_isr:
            ends[self._held.node] = replica.end
            partition = self._watch.partition(held.key)
            self._looked["P18-high-watermark-keeps-up"] += 1
            partition.check_kept_up(self._held.node, replica.high_watermark, ends)

    def _compare_with_newest(self, key: Key, epoch: int, isr: LedByIsr, where: str) -> None:
        """Judged where some broker knows as much of the ISR as this leader, which still leads."""
        newest, partition = self._watch.newest(key), self._watch.partition(key)
        if newest is None or newest.state.leader_epoch != epoch:
            return
        self._looked["P6-isr-as-committed"] += 1
        known = newest.state.partition_epoch
        if known < isr.partition_epoch:
            return
        is_so = isr.committed == {*newest.state.isr} if known == isr.partition_epoch else True
        if not is_so or not isr.maximal >= {*newest.state.isr}:
            what = f"{where} by the ISR {sorted(isr.committed)}, or as far as that may be, "
            what += f"{sorted(isr.maximal)}; committed is {sorted(newest.state.isr)}"
            raise Broken("P6-isr-as-committed", what)
        logs = self._watch.logs(key)
        self._looked["P7-maximal-isr-holds-all"] += 1
        partition.check_isr(self._held.logs[key], Offset(self._held.marks[key]), logs, newest)
        partition.recover(logs, newest)


def _waits_for_one(isr: LedByIsr, leading: Leading, mark: Offset) -> bool:
    """Whether one of the ISR has no more than is already shown. So it is in most steps: then
    nothing else is judged."""
    for broker, follower in leading.followers.items():
        if broker in isr.maximal and (follower.end is None or follower.end <= mark):
            return True
    return False


def _isr(fields: Mapping[str, TraceValue]) -> LedByIsr:
    epoch = _number(fields, "partition_epoch")
    return LedByIsr(epoch, _ids(fields, "isr"), _ids(fields, "maximal"))


def _key(fields: Mapping[str, TraceValue]) -> Key:
    return parse_uuid(str(fields["topic"])), _number(fields, "index")


def _number(fields: Mapping[str, TraceValue], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value


def _ids(fields: Mapping[str, TraceValue], name: str) -> frozenset[int]:
    value = fields[name]
    assert isinstance(value, list), f"{name} is {value!r}"
    return frozenset(int(each["id"]) for each in value)
