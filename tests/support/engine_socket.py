"""A socket that stands before the Docker engine's, so that one run's engine can die alone."""

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CHUNK = 1 << 16
_PATIENCE_S = 10.0


class EngineSocket:
    """Passes all bytes on, both ways, until it is told not to. For other threads."""

    def __init__(self, engine: Path, path: Path) -> None:
        self.path = path
        self._engine = engine
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=str(path))
        self._server: asyncio.Server | None = None
        self._passing = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        self._thread.start()
        self._do(self._listen())

    def die(self) -> None:
        """As of an engine whose process is killed: all connections end, and nobody listens."""
        self._do(self._stop())

    def fall_silent(self) -> None:
        """As of one that is stopped: whoever connects may, and is told nothing."""
        self._do(self._hold())

    def close(self) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_S)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE_S)

    async def _listen(self) -> None:
        self._passing.set()
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def _hold(self) -> None:
        self._passing.clear()

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            theirs, ours = await asyncio.open_unix_connection(self._engine)
            try:
                await asyncio.gather(self._pass(reader, ours), self._pass(theirs, writer))
            finally:
                ours.transport.abort()
        except (ConnectionError, asyncio.CancelledError):
            pass  # whoever was at one of its ends sees that
        finally:
            writer.transport.abort()
            self._serving.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            await self._passing.wait()
            writer.write(data)
            await writer.drain()
        writer.write_eof()


@contextmanager
def engine_socket(engine: Path) -> Iterator[EngineSocket]:
    """In a directory of its own: the path of a socket is short."""
    with tempfile.TemporaryDirectory() as place:
        socket = EngineSocket(engine, Path(place) / "docker.sock")
        socket.open()
        try:
            yield socket
        finally:
            socket.close()
