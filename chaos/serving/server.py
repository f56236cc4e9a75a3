"""HTTP for the pages of recorded runs, read-only, on loopback.

A browser's other pages must not read the runs through it: only requests that name loopback as
their host are answered, so no foreign name that resolves to it (DNS rebinding).
"""

import mimetypes
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from chaos.run.judging import PAGE
from chaos.serving.pages import (
    ListedRun,
    Listing,
    Query,
    diff_page,
    files_page,
    href_of,
    list_page,
    trouble_page,
)

HOST = "127.0.0.1"
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_AS_TEXT = frozenset({".json", ".jsonl", ".log", ".txt", ".sh", ".err", ".md", ".yaml", ".toml"})
_PIECE = 1 << 20
_MOST_FIELDS = 20  # of a query; ours have five


class RunsServer(ThreadingHTTPServer):
    """Serves the runs in `paths` until `shutdown`. Port 0 is any free one. Raises OSError."""

    daemon_threads = True

    def __init__(self, paths: Sequence[Path], port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self._listing = Listing(paths)
        self._lock = Lock()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def runs(self) -> list[ListedRun]:
        """As they are now."""
        with self._lock:
            return self._listing.runs()


class _Handler(BaseHTTPRequestHandler):
    server: RunsServer
    protocol_version = "HTTP/1.1"
    timeout = 60.0  # of a connection that says nothing
    server_version = "kraft-chaos"

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def handle(self) -> None:
        """A browser may hang up at any time."""
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """No line for each request."""

    def _answer(self) -> None:
        name = self.headers.get("Host", "").rpartition(":")
        host = name[0] if name[2].isdecimal() else "".join(name)
        if host not in _NAMES:
            self._page(HTTPStatus.FORBIDDEN, trouble_page("only loopback is served"))
            return
        try:
            asked = urlsplit(self.path)
            told = dict(parse_qsl(asked.query, max_num_fields=_MOST_FIELDS))
        except ValueError as error:
            self._page(HTTPStatus.BAD_REQUEST, trouble_page(str(error)))
            return
        path = unquote(asked.path)
        if path == "/":
            self._page(HTTPStatus.OK, list_page(self.server.runs(), Query.of(told)))
        elif path == "/diff":
            self._two(told)
        elif path.startswith("/run/"):
            self._of_run(path.removeprefix("/run/"))
        else:
            self._missing(path)

    def _two(self, told: dict[str, str]) -> None:
        by_name = {run.name: run for run in self.server.runs()}
        found = [by_name.get(told.get(name, "")) for name in ("one", "other")]
        if found[0] is None or found[1] is None:
            self._page(HTTPStatus.BAD_REQUEST, trouble_page("choose two runs of the list"))
            return
        try:
            page = diff_page(found[0], found[1])
        except (OSError, ValueError) as error:  # one of them changes just now
            self._page(HTTPStatus.CONFLICT, trouble_page(f"{error}; load the page again"))
        else:
            self._page(HTTPStatus.OK, page)

    def _of_run(self, path: str) -> None:
        """A run's page, or a file or directory of it."""
        run = next(
            (run for run in self.server.runs() if f"{path}/".startswith(f"{run.name}/")), None
        )
        if run is None:
            self._missing(path)
            return
        inside = path.removeprefix(run.name).lstrip("/")
        try:
            file = (run.directory / inside).resolve()
            if not file.is_relative_to(run.directory):
                self._missing(path)
            elif file.is_dir():
                self._directory(run, inside, file)
            else:
                self._file(file)
        except (OSError, ValueError):
            self._missing(path)

    def _directory(self, run: ListedRun, inside: str, directory: Path) -> None:
        within = f"{inside.rstrip('/')}/" if inside else ""
        if not inside and (directory / PAGE).is_file():
            self._moved(href_of(run, PAGE))
            return
        inner = sorted(directory.iterdir())
        names = [f"{each.name}/" if each.is_dir() else each.name for each in inner]
        self._page(HTTPStatus.OK, files_page(run, within, names))

    def _file(self, file: Path) -> None:
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if file.suffix in _AS_TEXT:
            kind = _TEXT
        elif file.suffix == ".html":
            kind = _HTML
        with file.open("rb") as opened:
            size = file.stat().st_size
            self._head(HTTPStatus.OK, kind, size)
            while self.command == "GET" and size > 0:
                piece = opened.read(min(size, _PIECE))
                if not piece:
                    self.close_connection = True  # it became shorter than was said
                    return
                size -= len(piece)
                self.wfile.write(piece)

    def _missing(self, what: str) -> None:
        self._page(HTTPStatus.NOT_FOUND, trouble_page(f"{quote(what)} is not here"))

    def _moved(self, where: str) -> None:
        self.send_response(HTTPStatus.FOUND)
        self.send_header("Location", where)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _page(self, status: HTTPStatus, text: str) -> None:
        body = text.encode()
        self._head(status, _HTML, len(body))
        if self.command == "GET":
            self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str, size: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
