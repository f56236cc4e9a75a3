"""Answers at the limits, by the thousand, to what one voter of three asks the two others.

The others answer what cannot be (`tests.fuzz.drawing`), mostly in frames that can be read; some
bring batches, sound or damaged. The node must not raise, with one exception that is meant: it does
not cut off what it believes to be committed. Whatever got into its log can be read by the judge and
replayed by the next node that opens it.

    python -m tests.fuzz.answers --count 100000 --seed 1
"""

import random
import sys
from collections import Counter

from node.effects import ElectionState, PeerDisconnected, PeerFrameReceived
from node.ids import ConnectionId, Epoch, NodeId, Offset
from node.raft.voter_forms import STATIC
from node.records.batch import encode_batch
from node.records.metadata import ConfigRecord, NoOpRecord, encode_metadata
from node.wire import decode_request, encode_request
from node.wire.apis import OutgoingRequest, PeerRequest
from node.wire.fetch import FetchRequest
from node.wire.frames import RequestHeader
from node.wire.vote import BeginQuorumEpochRequest, VoteRequest
from tests.fuzz.bench import Bench, check_log
from tests.fuzz.drawing import Draw, draw_answer, one_of
from tests.fuzz.frames import spoil
from tests.fuzz.sessions import Surprise, command, run_sessions
from tests.support.memory_log import MemoryLog

SESSION = 60
MEANT = "truncation to"
DAMAGED = 0.05  # of the answers, as frames
VALUES = [
    encode_metadata(NoOpRecord()),
    encode_metadata(ConfigRecord(resource_type=16, resource_name="r", name="match", value="x")),
]
UNKNOWN = b"\1\x7f\0"  # a record of a type that no node of ours knows
UNREADABLE = b"\2\x7f\0"  # of a frame that nobody knows


def batches(rng: random.Random, request: FetchRequest) -> bytes:
    """What may follow in the leader's log; half of it damaged."""
    data, base = b"", request.fetch_offset
    epochs = [request.last_epoch, request.epoch, request.epoch, request.epoch + 1]
    for _ in range(rng.randint(0, 3)):
        value = rng.choice((UNKNOWN, UNREADABLE) if rng.random() < 0.05 else VALUES)
        records = [(None, value)] * rng.randint(1, 3)
        epoch = Epoch(rng.choice(epochs[:3] if rng.random() < 0.9 else epochs))
        data += encode_batch(records, base_offset=Offset(base), leader_epoch=epoch, timestamp_ms=1)
        base += len(records)
    if data and rng.random() < 0.3:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data[: rng.randint(0, len(data))] if rng.random() < 0.1 else data


def likely(rng: random.Random, peer: NodeId, request: OutgoingRequest) -> dict[str, Draw]:
    """Fields of an answer that makes some sense."""
    if not isinstance(request, PeerRequest):
        return {"error_code": one_of(0, 0, 41)}
    epoch = request.epoch
    values: dict[str, Draw] = {
        "error_code": one_of(*[0] * 30, 6, 74, 75, 42),
        "leader_id": one_of(*[peer] * 12, -1, 1),
        "leader_epoch": one_of(*[epoch] * 12, epoch + 1),
        "vote_granted": one_of(True, True, False),
    }
    if isinstance(request, VoteRequest):
        values["leader_id"] = one_of(*[-1] * 12, peer, 1)
    if isinstance(request, FetchRequest):
        offset = request.fetch_offset
        values |= {
            "records": lambda _: batches(rng, request),
            "epoch": lambda _: rng.randint(0, request.last_epoch),
            "end_offset": one_of(max(offset - 1, 0), max(offset - 2, 0), offset),
            "high_watermark": one_of(-1, 0, 0, max(offset - 3, 0), offset),
        }
    return values


def session(rng: random.Random, counts: Counter[str]) -> None:
    # Where the log named its voters, nobody could lead it alone at the end.
    bench = Bench(MemoryLog(), ElectionState(), rng, size=3, kraft_version=STATIC)
    try:
        for _ in range(SESSION):
            _happen(bench, rng, counts)
    except AssertionError as error:
        if not str(error).startswith(MEANT):
            raise
        counts["refused to cut off what is committed"] += 1
    counts["batches in the log"] += len(bench.log.batches)
    check_log(bench.log)
    again = Bench(bench.log, bench.election, rng, kraft_version=STATIC)
    if again.node.core.raft.log.unreplayable is None:
        again.lead()
    else:
        counts["logs that only others can replay"] += 1


def _happen(bench: Bench, rng: random.Random, counts: Counter[str]) -> None:
    """Mostly an answer; now and then none in time, a lost connection, or somebody who leads."""
    what = rng.random()
    if what < 0.15:
        bench.turn()
    elif what < 0.2 and bench.peers:
        channel = rng.choice(sorted(bench.peers))
        bench.asked.pop(channel, None)
        bench.step(PeerDisconnected(channel=channel))
    elif what < 0.3:
        _announce(bench, rng)
    else:
        _answer_one(bench, rng, counts)


def _announce(bench: Bench, rng: random.Random) -> None:
    quorum = bench.node.core.raft.quorum
    request = BeginQuorumEpochRequest(
        cluster_id=None,
        voter=NodeId(1),
        voter_directory=None,
        leader=NodeId(rng.randint(2, 3)),
        epoch=Epoch(quorum.epoch + rng.randint(0, 1)),
    )
    _, frame = encode_request(request, correlation_id=1, client_id="f")
    bench.ask(frame, ConnectionId(1))


def _answer_one(bench: Bench, rng: random.Random, counts: Counter[str]) -> None:
    while not bench.asked:
        bench.turn()
    channel = rng.choice(sorted(bench.asked))
    frame = bench.asked[channel].pop(0)
    if not bench.asked[channel]:
        del bench.asked[channel]
    header, request = decode_request(frame)
    assert isinstance(request, OutgoingRequest)
    answer = draw_answer(rng, header, likely(rng, bench.peers[channel], request))
    if rng.random() < DAMAGED:
        answer = spoil(rng, answer)
    try:
        bench.step(PeerFrameReceived(channel=channel, frame=answer))
    except AssertionError as error:
        if str(error).startswith(MEANT):
            raise
        raise _surprise(header, answer, error) from error
    except Exception as error:
        raise _surprise(header, answer, error) from error
    counts[f"answers to {type(request).__name__.removesuffix('Request')}"] += 1


def _surprise(header: RequestHeader, answer: bytes, error: Exception) -> Surprise:
    return Surprise(f"answer to {header}: {error!r}; frame {answer.hex()[:2000]}")


def fuzz(seed: int, numbers: range) -> Counter[str]:
    """Raises Surprise."""
    counts: Counter[str] = Counter()
    run_sessions("answers", seed, numbers, lambda rng: session(rng, counts))
    return counts


def told(seed: int, numbers: range) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(fuzz(seed, numbers).items()))


if __name__ == "__main__":
    sys.exit(command(__doc__, SESSION, told))
