"""The one order of perform, send and flush, for any node and any shell."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import pytest

from node.effects import (
    AppendBatches,
    ConnectionClosed,
    DisconnectPeer,
    ElectionState,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    PeerDisconnected,
    PeerFrameReceived,
    PersistElectionState,
    SendResponse,
    Stop,
    TimeoutElapsed,
    Trace,
    TruncateLog,
)
from node.effects import Effect as AnyEffect
from node.ids import METADATA_LOG, ChannelId, ConnectionId, LogId, Now, Offset
from node.turn import Action, Marker, Turn, Turns

FAR_NS = 10**18


@dataclass
class Scripted:
    """Answers each event with the effects that the test has for it."""

    script: dict[str, list[AnyEffect]] = field(default_factory=dict)
    fed: list[Event] = field(default_factory=list)
    deadline_ns: int = FAR_NS

    def start(self, now: Now) -> list[AnyEffect]:
        del now
        return self.script.get("start", [])

    def step(self, event: Event, now: Now) -> list[AnyEffect]:
        del now
        self.fed.append(event)
        if isinstance(event, TimeoutElapsed):
            self.deadline_ns = FAR_NS
        name = event.frame.decode() if isinstance(event, FrameReceived) else type(event).__name__
        return self.script.get(name, [])

    def next_deadline_ns(self) -> int:
        return self.deadline_ns


def clocks() -> Now:
    return Now(5, 5)


def frame(word: str) -> FrameReceived:
    return FrameReceived(connection=ConnectionId(1), listener="", frame=word.encode())


def reply(word: str) -> SendResponse:
    return SendResponse(connection=ConnectionId(1), frame=word.encode())


def line(word: str) -> Trace:
    return Trace(event=word, fields={})


APPEND: list[AnyEffect] = [
    AppendBatches(log=METADATA_LOG, data=b"batch"),
    FlushLog(log=METADATA_LOG),
]


def each(turn: Turn) -> Iterator[Action]:
    """One after the other, as a shell does them."""
    return chain.from_iterable(turn)


def deeds(turn: Turn) -> list[Action]:
    return [deed for deed in each(turn) if deed is not Marker.STEPPED]


def flushed(turns: Turns) -> list[Action]:
    """The deeds of a turn, of a shell that waits for its flushes."""
    seen: list[Action] = []
    for deed in each(turns.drain()):
        if deed is not Marker.STEPPED:
            seen.append(deed)
        if isinstance(deed, FlushLog):
            turns.feed(LogFlushed(log=METADATA_LOG, end=Offset(1)))
    return seen


def test_writes_then_traces_then_frames_then_one_flush_for_all() -> None:
    node = Scripted({"write": [reply("soon"), *APPEND, line("q.append")]})
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    turns.feed(frame("write"))
    assert deeds(turns.drain()) == [
        *[AppendBatches(log=METADATA_LOG, data=b"batch"), line("q.append")] * 2,
        Marker.TRACES_LEAVE,
        reply("soon"),
        reply("soon"),
        FlushLog(log=METADATA_LOG),
    ]


def test_what_a_flush_makes_visible_leaves_after_it() -> None:
    node = Scripted({"write": APPEND, "LogFlushed": [line("q.fsync"), reply("done")]})
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    assert flushed(turns)[-4:] == [
        FlushLog(log=METADATA_LOG),
        line("q.fsync"),
        Marker.TRACES_LEAVE,
        reply("done"),
    ]


def test_traces_that_no_frame_waits_for_leave_with_those_of_the_flush() -> None:
    node = Scripted({"write": [*APPEND, line("q.append")], "LogFlushed": [line("q.fsync")]})
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    assert flushed(turns) == [
        AppendBatches(log=METADATA_LOG, data=b"batch"),
        line("q.append"),
        FlushLog(log=METADATA_LOG),
        line("q.fsync"),
        Marker.TRACES_LEAVE,
    ]


def test_traces_do_not_wait_for_a_flush_that_goes_on() -> None:
    turns = Turns(Scripted({"write": [*APPEND, line("q.append")]}), clocks)
    turns.feed(frame("write"))
    assert deeds(turns.drain())[-2:] == [FlushLog(log=METADATA_LOG), Marker.TRACES_LEAVE]


def test_while_a_flush_is_under_way_no_other_begins_and_the_node_goes_on() -> None:
    node = Scripted({"write": APPEND, "read": [reply("read")]})
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    assert FlushLog(log=METADATA_LOG) in deeds(turns.drain())
    turns.feed(frame("write"))
    turns.feed(frame("read"))
    later = deeds(turns.drain())
    assert reply("read") in later
    assert FlushLog(log=METADATA_LOG) not in later
    turns.feed(LogFlushed(log=METADATA_LOG, end=Offset(1)))
    assert FlushLog(log=METADATA_LOG) in deeds(turns.drain()), "of what was written meanwhile"


def test_a_flush_holds_up_no_other_log() -> None:
    other = LogId("orders-0")
    node = Scripted({"write": APPEND, "other": [FlushLog(log=other)]})
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    assert FlushLog(log=METADATA_LOG) in deeds(turns.drain())
    turns.feed(frame("other"))
    turns.feed(frame("write"))
    later = deeds(turns.drain())
    assert FlushLog(log=other) in later
    assert FlushLog(log=METADATA_LOG) not in later
    turns.feed(LogFlushed(log=other, end=Offset(5)))
    assert FlushLog(log=METADATA_LOG) not in deeds(turns.drain()), "its own is still under way"


def test_a_flush_that_began_before_a_cut_vouches_for_nothing_above_it() -> None:
    node = Scripted(
        {
            "write": APPEND,
            "cut": [TruncateLog(log=METADATA_LOG, end=Offset(3)), FlushLog(log=METADATA_LOG)],
        }
    )
    turns = Turns(node, clocks)
    turns.feed(frame("write"))
    list(turns.drain())
    turns.feed(frame("cut"))
    turns.feed(frame("write"))
    list(turns.drain())
    turns.feed(LogFlushed(log=METADATA_LOG, end=Offset(9)))
    assert FlushLog(log=METADATA_LOG) in deeds(turns.drain())
    turns.feed(LogFlushed(log=METADATA_LOG, end=Offset(9)))
    list(turns.drain())
    told = [event.end for event in node.fed if isinstance(event, LogFlushed)]
    assert told == [3, 9]


def test_the_last_answers_leave_before_the_node_stops_and_nothing_after() -> None:
    stop = Stop(code=0, reason="asked")
    node = Scripted({"stop": [reply("bye"), stop, reply("never")]})
    turns = Turns(node, clocks)
    turns.feed(frame("stop"))
    turns.feed(frame("stop"))
    assert list(each(turns.drain())) == [Marker.STEPPED, Marker.TRACES_LEAVE, reply("bye"), stop]
    turns.feed(frame("stop"))
    assert list(each(turns.drain())) == []
    assert len(node.fed) == 1


def test_input_is_heard_before_a_timer_fires() -> None:
    node = Scripted(deadline_ns=1)
    turns = Turns(node, clocks)
    for deed in each(turns.time_out()):
        if deed is Marker.LISTEN:
            turns.feed(frame("late"))
    assert node.fed == [frame("late"), TimeoutElapsed()]


def test_a_timer_that_input_calmed_does_not_fire() -> None:
    node = Scripted(deadline_ns=1)
    turns = Turns(node, clocks)
    for deed in each(turns.time_out()):
        if deed is Marker.LISTEN:
            turns.feed(frame("calm"))
            node.deadline_ns = FAR_NS
    assert node.fed == [frame("calm")]


def test_what_was_fed_before_the_start_is_handled_by_it() -> None:
    node = Scripted({"start": [line("n.start")]})
    turns = Turns(node, clocks)
    turns.feed(ConnectionClosed(connection=ConnectionId(1)))
    assert deeds(turns.start()) == [line("n.start"), Marker.TRACES_LEAVE]
    assert node.fed == [ConnectionClosed(connection=ConnectionId(1))]


@dataclass
class Writer:
    """Writes, cuts and talks as chance has it; its answers name all that it believes durable."""

    rng: random.Random
    log: list[int] = field(default_factory=list)  # each record is a number of its own
    durable: int = 0
    written: int = 0
    deadline_ns: int = FAR_NS

    def start(self, now: Now) -> list[AnyEffect]:
        del now
        return [FlushLog(log=METADATA_LOG)]

    def step(self, event: Event, now: Now) -> list[AnyEffect]:
        del now
        if isinstance(event, LogFlushed):
            self.durable = max(self.durable, min(event.end, len(self.log)))
        effects: list[AnyEffect] = []
        for _ in range(self.rng.randrange(3)):
            match self.rng.randrange(5):
                case 0 if self.log:
                    end = self.rng.randrange(len(self.log))
                    del self.log[end:]
                    self.durable = min(self.durable, end)
                    effects += [
                        TruncateLog(log=METADATA_LOG, end=Offset(end)),
                        FlushLog(log=METADATA_LOG),
                    ]
                case 1 | 2:
                    self.written += 1
                    self.log.append(self.written)
                    effects += [
                        AppendBatches(log=METADATA_LOG, data=self.written.to_bytes(4)),
                        FlushLog(log=METADATA_LOG),
                    ]
                case 3:
                    state = ElectionState()
                    effects += [PersistElectionState(state=state), line(f"vote {self.written}")]
                case _:
                    promised = b"".join(record.to_bytes(4) for record in self.log[: self.durable])
                    effects += [
                        line("promise"),
                        SendResponse(connection=ConnectionId(1), frame=promised),
                    ]
        return effects

    def next_deadline_ns(self) -> int:
        return self.deadline_ns


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("waits", [True, False])
def test_whatever_is_promised_is_on_the_disk(seed: int, waits: bool) -> None:
    """A shell that waits for its disk, and one that does not: no frame vouches for a record that
    was never durable, and no trace line comes after a frame of its step."""
    rng = random.Random(f"turn:{seed}")
    turns = Turns(Writer(rng), clocks)
    log: list[int] = []
    durable: set[int] = set()  # by now; what is cut off was, all the same
    under_way: Offset | None = None
    untold = 0

    def sync() -> Offset:
        durable.update(log)
        return Offset(len(log))

    turn = turns.start()
    for _ in range(60):
        for deed in each(turn):
            match deed:
                case AppendBatches(data=data):
                    log.append(int.from_bytes(data))
                case TruncateLog(end=end):
                    del log[end:]
                case FlushLog():
                    assert under_way is None
                    if waits:
                        turns.feed(LogFlushed(log=METADATA_LOG, end=sync()))
                    else:
                        under_way = sync() if rng.random() < 0.5 else Offset(-1)
                case Trace():
                    untold += 1
                case Marker.TRACES_LEAVE:
                    untold = 0
                case SendResponse(frame=promised):
                    assert untold == 0
                    words = [promised[i : i + 4] for i in range(0, len(promised), 4)]
                    assert durable.issuperset(int.from_bytes(word) for word in words)
                case _:
                    pass
        if under_way is not None and rng.random() < 0.5:
            # Synced long ago, or only now; what was written since is not vouched for.
            turns.feed(LogFlushed(log=METADATA_LOG, end=sync() if under_way < 0 else under_way))
            under_way = None
        turns.feed(frame("go on"))
        turn = turns.drain()


def test_what_a_dropped_connection_brought_is_no_word_of_the_next_one() -> None:
    """An answer waits to be stepped while its channel is hung up, and asked anew."""
    mine, other = ChannelId(1), ChannelId(2)
    node = Scripted({"redial": [DisconnectPeer(channel=mine)]})
    turns = Turns(node, clocks)
    turns.feed(frame("redial"))
    heard = [PeerFrameReceived(channel=other, frame=b""), PeerDisconnected(channel=other)]
    for channel in (mine, other):
        turns.feed(PeerFrameReceived(channel=channel, frame=b""))
        turns.feed(PeerDisconnected(channel=channel))
    deeds(turns.drain())
    assert node.fed == [frame("redial"), *heard]
