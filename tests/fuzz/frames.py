"""Damaged frames against the codec and against a live node.

    python -m tests.fuzz.frames --count 100000 --seed 1 [--address HOST:PORT]

Most frames go to the decoder in this process, which must read or refuse them and do nothing else. A
share goes over TCP to a node (its own process, one voter, unless an address is given), mixed with
sound frames, cut into segments anywhere. The node must answer what was sound, in order, refuse the
rest by hanging up, and serve others as if nothing had happened. Prints one line; exit code 1 and
the frame in hex if anything else happens. The same seed throws the same frames.
"""

import argparse
import errno
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from node.server.framing import FrameCutter, with_size
from node.server.tool_client import Client
from node.wire import (
    MalformedFrame,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from node.wire.api_versions import ApiVersionsRequest
from node.wire.apis import APIS, BY_REQUEST, PeerRequest
from node.wire.frames import RequestHeader
from tests.fuzz.sessions import Surprise
from tests.node.wire.sample_requests import REQUESTS
from tests.node.wire.sample_responses import RESPONSES
from tests.support.quorum_processes import (
    PATIENCE_S,
    NodeProcess,
    get_interval,
    quorum_processes,
    set_interval,
    wait_until,
)

# The node hung up before we were done sending: as it should.
HUNG_UP = {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}
# One frame in so many goes over TCP.
TCP_SHARE = 20
# Between checks that configs are still written and read.
CONFIG_CHECK_EVERY = 250


# --- damage: each takes a sound frame and spoils it ---


def flip_bits(rng: random.Random, frame: bytes) -> bytes:
    spoiled = bytearray(frame)
    for _ in range(rng.randint(1, 8)):
        spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def truncate(rng: random.Random, frame: bytes) -> bytes:
    return frame[: rng.randrange(1, len(frame))]


def append_noise(rng: random.Random, frame: bytes) -> bytes:
    return frame + rng.randbytes(rng.randint(1, 40))


def unknown_api(rng: random.Random, frame: bytes) -> bytes:
    return rng.randint(-(2**15), 2**15 - 1).to_bytes(2, "big", signed=True) + frame[2:]


def unknown_version(rng: random.Random, frame: bytes) -> bytes:
    version = rng.choice([-1, 19, 5, 3, 2**15 - 1, rng.randrange(-(2**15), 2**15)])
    return frame[:2] + version.to_bytes(2, "big", signed=True) + frame[4:]


def insert_tags(rng: random.Random, frame: bytes) -> bytes:
    """Unknown tagged fields: sound where a tag section stood, nonsense elsewhere."""
    content = rng.randbytes(rng.randrange(20))
    tags = b"\x01" + bytes([rng.randrange(128), len(content)]) + content
    at = rng.choice([i for i in range(8, len(frame)) if frame[i] == 0] or [len(frame) - 1])
    return frame[:at] + tags + frame[at + 1 :]


def huge_length(rng: random.Random, frame: bytes) -> bytes:
    """An array or string of any size, up to two thousand million."""
    length = rng.choice([b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\xff\xff\x7f"])
    old_length = rng.choice(
        [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\x0f\xff\xff"]
    )
    at = rng.randrange(8, len(frame))
    return frame[:at] + rng.choice([length, old_length]) + frame[at + 1 :]


def invalid_text(rng: random.Random, frame: bytes) -> bytes:
    at = rng.randrange(8, len(frame))
    return frame[:at] + b"\xc3\x28\xff\xfe"[: rng.randint(1, 4)] + frame[at + 1 :]


def splice(rng: random.Random, frame: bytes) -> bytes:
    other = rng.choice(SOUND)
    return frame[: rng.randrange(1, len(frame))] + other[rng.randrange(len(other)) :]


def noise(rng: random.Random, _frame: bytes) -> bytes:
    return rng.randbytes(rng.randint(1, 200))


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    flip_bits,
    truncate,
    append_noise,
    unknown_api,
    unknown_version,
    insert_tags,
    huge_length,
    invalid_text,
    splice,
    noise,
)
# With the cluster id of another cluster, and without one: the latter get further into the node.
ANYBODYS = tuple(
    replace(message, cluster_id=None) for message in REQUESTS if isinstance(message, PeerRequest)
)
SOUND: tuple[bytes, ...] = tuple(
    encode_request(message, correlation_id=1, client_id="fuzz", version=version)[1]
    for message in (*REQUESTS, *ANYBODYS)
    for api in [BY_REQUEST[type(message)]]
    for version in range(api.min_version, api.max_version + 1)
)
SOUND_RESPONSES: tuple[tuple[RequestHeader, bytes], ...] = tuple(
    (header, encode_response(header, response))
    for api in APIS
    for response in RESPONSES[api.key]
    for version in range(api.min_version, api.max_version + 1)
    for header in [
        RequestHeader(api_key=api.key, api_version=version, correlation_id=1, client_id="fuzz")
    ]
)


def spoil(rng: random.Random, frame: bytes) -> bytes:
    return rng.choice(DAMAGES)(rng, frame)


# --- in this process ---


@dataclass
class Tally:
    """What became of the frames."""

    counts: Counter[str] = field(default_factory=Counter)

    def line(self, seconds: float) -> str:
        parts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return f"{sum(self.counts.values())} frames in {seconds:.1f} s: {parts}"


def fuzz_codec(rng: random.Random, count: int, tally: Tally) -> None:
    """Requests and answers: read or MalformedFrame. Raises Surprise."""
    for _ in range(count):
        if rng.randrange(4):
            frame = spoil(rng, rng.choice(SOUND))
            tally.counts[_decode(frame, decode_request)] += 1
        else:
            header, sound = rng.choice(SOUND_RESPONSES)
            frame = spoil(rng, sound)
            tally.counts[_decode(frame, partial(decode_response, header))] += 1


def _decode(frame: bytes, decode: Callable[[bytes], object]) -> str:
    try:
        decode(frame)
    except MalformedFrame:
        return "refused by the codec"
    except Exception as error:
        raise Surprise(f"{type(error).__name__}: {error}; frame {frame.hex()}") from error
    return "read all the same"


# --- over TCP ---


@dataclass
class Target:
    """A node that listens, and what is known of its process."""

    host: str
    port: int
    process: NodeProcess | None

    def check_alive(self) -> None:
        if self.process is None or self.process.process is None:
            return
        if self.process.process.poll() is not None:
            raise Surprise(f"the node died: {self.process.errors[-2000:]}")


def fuzz_node(rng: random.Random, count: int, target: Target, tally: Tally) -> None:
    """`count` connections with damage, beside one that is sound all the time."""
    with Client(target.host, target.port, PATIENCE_S) as steady:
        for number in range(count):
            stream, sound = _stream(rng)
            try:
                steady.send(ApiVersionsRequest())
                answers = _throw(rng, target, stream)
                _check_answers(answers, sound)
                steady.send(ApiVersionsRequest())
            except (OSError, Surprise, MalformedFrame) as error:
                target.check_alive()
                raise Surprise(f"connection {number}: {error}; stream {stream.hex()}") from error
            tally.counts["thrown at the node"] += 1
            if number % CONFIG_CHECK_EVERY == CONFIG_CHECK_EVERY - 1:
                check_configs(target, number)
    target.check_alive()
    check_configs(target, count)


def _stream(rng: random.Random) -> tuple[bytes, int]:
    """Some sound requests, then damage of frame or size; and how many are sound."""
    sound = rng.choice([0, 0, 1, 3, 20])
    frames = [
        encode_request(
            ApiVersionsRequest(),
            correlation_id=1000 + n,
            client_id="fuzz",
            version=rng.randrange(5),
        )
        for n in range(sound)
    ]
    stream = b"".join(with_size(frame) for _, frame in frames)
    bad = spoil(rng, rng.choice(SOUND))
    match rng.randrange(6):
        case 0:
            size = rng.choice([0, -1, -(2**31), 2**31 - 1, 104_857_601, len(bad) - 1])
            return stream + size.to_bytes(4, "big", signed=True) + bad, sound
        case 1:
            return stream + with_size(bad)[: rng.randrange(1, len(bad) + 4)], sound
        case 2:
            return stream + with_size(bad) * rng.randint(2, 5), sound
        case _:
            return stream + with_size(bad), sound


def _throw(rng: random.Random, target: Target, stream: bytes) -> list[bytes]:
    """Send it in segments, and take what comes until the node hangs up."""
    cutter = FrameCutter()
    answers: list[bytes] = []
    with socket.create_connection((target.host, target.port), timeout=PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(rng.randrange(4)))
            for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
                connection.sendall(stream[begin:end])
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(1 << 16):
                answers += cutter.cut(data)
        except OSError as error:
            if error.errno not in HUNG_UP:
                raise
    return answers


def _check_answers(answers: Sequence[bytes], sound: int) -> None:
    """Those to the sound requests come first, in order; a size that is absurd may swallow them."""
    ids = [int.from_bytes(answer[:4], "big") for answer in answers]
    expected = list(range(1000, 1000 + sound))
    if ids[:sound] != expected[: len(ids)]:
        raise Surprise(f"answers to requests {ids}, sent {expected}")


def check_configs(target: Target, number: int) -> None:
    """A new connection writes a register and reads it. A forged vote may have to be outlived."""
    value = 100 + number

    def written_and_read() -> bool | None:
        try:
            with Client(target.host, target.port, PATIENCE_S) as client:
                client.send(ApiVersionsRequest())
                if set_interval(client, "fuzz", value) is None:
                    return None
                return True if get_interval(client, "fuzz") == str(value) else None
        except OSError:
            target.check_alive()
            return None

    try:
        wait_until(written_and_read, "a config is written and read", PATIENCE_S)
    except AssertionError as error:
        raise Surprise(str(error)) from error


# --- the command ---


def fuzz(seed: int, in_process: int, over_tcp: int, address: tuple[str, int] | None) -> Tally:
    """Raises Surprise."""
    tally = Tally()
    fuzz_codec(random.Random(f"{seed}:codec"), in_process, tally)
    rng = random.Random(f"{seed}:node")
    if address is not None:
        fuzz_node(rng, over_tcp, Target(*address, process=None), tally)
    else:
        with (
            tempfile.TemporaryDirectory(prefix="kraft-fuzz-") as directory,
            quorum_processes(Path(directory), 1) as quorum,
        ):
            node = quorum.nodes[1]
            quorum.leader()
            fuzz_node(rng, over_tcp, Target("127.0.0.1", node.outer, node), tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--address", help="HOST:PORT of a node; one is started otherwise")
    options = parser.parse_args()
    address = None
    if options.address:
        host, _, port = options.address.rpartition(":")
        address = (host, int(port))
    over_tcp = options.count // TCP_SHARE
    began = time.monotonic()
    try:
        tally = fuzz(options.seed, options.count - over_tcp, over_tcp, address)
    except Surprise as surprise:
        print(f"seed {options.seed}: {surprise}", file=sys.stderr)
        return 1
    print(f"seed {options.seed}: {tally.line(time.monotonic() - began)}; the node is alive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
