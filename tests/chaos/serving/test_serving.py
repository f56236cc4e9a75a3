"""`kraft-chaos serve`: what it lists, what it answers, and what it refuses."""

import http.client
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from chaos.cli import main
from chaos.run.judging import judge_directory
from chaos.serving.pages import ROWS, ListedRun, Listing, Query, list_page
from chaos.serving.server import HOST, RunsServer
from checkers.history.sealed_run import read_run_info, write_run_info
from tests.support.sealed_runs import Shape, seal_run

SMALL = Shape(duration_s=5, faults=((2, 3),))
HOSTILE = "<script>alert(1)</script> & 'ü'"


def sealed(directory: Path, violation: str | None = None, **told: object) -> Path:
    """A judged run with its page; `told` are fields of its run.json."""
    seal_run(directory, SMALL, violation)
    if told:
        write_run_info(directory, replace(read_run_info(directory), **told))  # type: ignore[arg-type]
    judge_directory(directory)
    return directory


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one scenario, an invalid one deeper down, and a damaged one."""
    root = tmp_path_factory.mktemp("served") / "runs"
    sealed(root / "one", started_utc="2026-11-27T10:00:00")
    sealed(root / "two", started_utc="2026-11-28T10:00:00")
    sealed(
        root / "night" / "bad", "stale-read", started_utc="2026-11-29T10:00:00", scenario="other"
    )
    damaged = sealed(root / "damaged", started_utc="2026-11-26T10:00:00") / "ops.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    return root


@contextmanager
def serving(*paths: Path) -> Iterator[RunsServer]:
    with RunsServer(paths, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(
    server: RunsServer, path: str, method: str = "GET", host: str | None = None
) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of an answer."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def test_runs_are_listed_the_newest_first_and_a_damaged_one_is_an_error(runs: Path) -> None:
    found = Listing([runs]).runs()
    assert [(run.name, run.word) for run in found] == [
        ("runs/night/bad", "invalid"),
        ("runs/two", "valid"),
        ("runs/one", "valid"),
        ("runs/damaged", "error"),
    ]
    assert "ops.parquet" in found[-1].sentence


def test_a_run_that_changes_or_comes_is_seen_and_others_are_not_read_again(tmp_path: Path) -> None:
    one = sealed(tmp_path / "one")
    listing = Listing([tmp_path])
    (before,) = listing.runs()
    sealed(tmp_path / "two")
    again = {run.directory.name: run for run in listing.runs()}
    assert again["one"] is before
    assert again["two"].word == "valid"
    (one / "verdict.json").unlink()
    assert {run.word for run in listing.runs()} == {"unjudged", "valid"}


def test_directories_of_one_name_do_not_hide_each_others_runs(tmp_path: Path) -> None:
    paths = [tmp_path / place / "runs" for place in ("a", "b")]
    for path in paths:
        sealed(path / "one")
    names = [run.name for run in Listing(paths).runs()]
    assert len(set(names)) == 2


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("verdict=invalid", ["night/bad"]),
        ("scenario=other", ["night/bad"]),
        ("text=TWO", ["two"]),
        ("text=runs+nowhere", []),
        ("verdict=valid&target=node+test", ["two", "one"]),
        ("page=999999999999999999999", ["night/bad", "two", "one", "damaged"]),
        ("verdict=%00&nonsense=1", []),
    ],
)
def test_a_query_finds(runs: Path, query: str, names: list[str]) -> None:
    with serving(runs) as server:
        status, page, _ = ask(server, f"/?{query}")
    assert status == 200
    assert re.findall(r'name="one" value="runs/([^"]*)"', page) == names


def test_the_history_of_a_scenario_is_told_by_target(runs: Path) -> None:
    with serving(runs) as server:
        _, page, _ = ask(server, "/?scenario=partition-leader")
    assert page.count("■") == 2
    assert page.index("/run/runs/one/") < page.index("/run/runs/two/")


def test_a_long_list_has_pages() -> None:
    (one,) = [*_unreadable("one")]
    many = [replace(one, name=f"runs/{number:04}") for number in range(2 * ROWS + 1)]
    shown = [list_page(many, Query(page=page)).count('name="one"') for page in (1, 2, 3, 4)]
    assert shown == [ROWS, ROWS, 1, 1]


def _unreadable(name: str) -> Iterator[ListedRun]:
    yield ListedRun(
        name=name,
        directory=Path(name),
        run=None,
        sentence="not sealed",
        verdict=None,
        is_as_expected=False,
    )


def test_a_runs_page_and_files_are_served(runs: Path) -> None:
    with serving(runs) as server:
        status, _, headers = ask(server, "/run/runs/two")
        assert (status, headers["Location"]) == (302, "/run/runs/two/report.html")
        assert ask(server, headers["Location"])[1] == (runs / "two" / "report.html").read_text()
        status, text, headers = ask(server, "/run/runs/two/run.json")
        assert headers["Content-Type"].startswith("text/plain")
        assert text == (runs / "two" / "run.json").read_text()
        status, text, headers = ask(server, "/run/runs/two/run.json", "HEAD")
        assert (status, text) == (200, "")
        assert int(headers["Content-Length"]) == (runs / "two" / "run.json").stat().st_size


def test_a_run_without_a_page_shows_its_files(tmp_path: Path) -> None:
    one = sealed(tmp_path / "one")
    (one / "report.html").unlink()
    (one / "logs").mkdir()
    (one / "logs" / HOSTILE.replace("/", "")).write_text("said")
    with serving(tmp_path) as server:
        _, page, _ = ask(server, f"/run/{tmp_path.name}/one/")
        assert "verdict.json" in page
        _, page, _ = ask(server, f"/run/{tmp_path.name}/one/logs/")
        assert "<script>" not in page
        (link,) = re.findall(r'href="(/run/[^"]*script[^"]*)"', page)
        assert ask(server, link.replace("&#x27;", "'"))[1] == "said"


@pytest.mark.parametrize(
    "path",
    [
        "/run/runs/one/../../../secret",
        "/run/runs/one/%2e%2e/%2e%2e/secret",
        "/run/runs/one/%2Fetc%2Fpasswd",
        "/run/runs/one/link",
        "/run/runs/one/a%00b",
        "/run/runs/on",
        "/run/",
        "/favicon.ico",
        "/run/" + "x" * 5000,
    ],
)
def test_nothing_outside_of_runs_is_served(runs: Path, path: str) -> None:
    secret = runs.parent / "secret"
    secret.write_text("secret")
    link = runs / "one" / "link"
    if not link.is_symlink():
        link.symlink_to(secret)
    with serving(runs) as server:
        status, text, _ = ask(server, path)
    assert status == 404
    assert text != "secret"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8066", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("evil.example:80", 403),
        ("127.0.0.1.evil.example", 403),
    ],
)
def test_only_loopback_is_answered(runs: Path, host: str, status: int) -> None:
    with serving(runs) as server:
        assert ask(server, "/", host=host)[0] == status


def test_a_table_that_changes_later_is_seen(tmp_path: Path) -> None:
    """Its verdict stands beside it unchanged."""
    one = sealed(tmp_path / "one")
    listing = Listing([tmp_path])
    assert [run.word for run in listing.runs()] == ["valid"]
    table = one / "ops.parquet"
    table.write_bytes(table.read_bytes() + b"!")
    assert [run.word for run in listing.runs()] == ["error"]


def test_a_run_that_goes_is_listed_no_more(tmp_path: Path) -> None:
    one, two = sealed(tmp_path / "one"), sealed(tmp_path / "two")
    both = urlencode({"one": f"{tmp_path.name}/one", "other": f"{tmp_path.name}/two"})
    with serving(tmp_path) as server:
        assert ask(server, f"/diff?{both}")[0] == 200
        (one / "verdict.json").write_text("{}")
        assert "Only two judged runs" in ask(server, f"/diff?{both}")[1]
        shutil.rmtree(two)
        assert ask(server, f"/diff?{both}")[0] == 400
        assert ask(server, "/")[1].count('name="one"') == 1


def test_odd_requests_are_answered_and_hang_ups_are_no_errors(
    runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = "&".join(f"a{number}=1" for number in range(40))
    with serving(runs) as server:
        assert [ask(server, path)[0] for path in (f"/?{many}", "//[", "/?page=%C2%B2")] == [
            400,
            404,
            200,
        ]
        for line in (b"GET /run/runs/two/report.html HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET"):
            with socket.create_connection((HOST, server.server_port)) as hasty:
                # It resets the connection, with the answer on its way.
                hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                hasty.sendall(line)
        assert ask(server, "/")[0] == 200
    assert capfd.readouterr().err == ""


def test_nothing_can_be_changed(runs: Path) -> None:
    with serving(runs) as server:
        assert {ask(server, "/", method)[0] for method in ("POST", "PUT", "DELETE")} == {501}


def test_two_runs_beside_each_other(runs: Path) -> None:
    with serving(runs) as server:
        both = urlencode({"one": "runs/two", "other": "runs/night/bad"})
        status, page, _ = ask(server, f"/diff?{both}")
        assert status == 200
        assert "stale" in page
        assert ">scenario<" in page
        damaged = urlencode({"one": "runs/two", "other": "runs/damaged"})
        assert "Only two judged runs" in ask(server, f"/diff?{damaged}")[1]
        assert ask(server, f"/diff?one={quote('runs/two')}")[0] == 400


def test_names_of_others_stay_names(tmp_path: Path) -> None:
    sealed(tmp_path / HOSTILE.replace("/", ""), scenario=HOSTILE, target=HOSTILE)
    with serving(tmp_path) as server:
        _, page, _ = ask(server, "/")
        assert "<script>" not in page
        assert "&lt;script&gt;" in page
        (link,) = {*re.findall(r'href="(/run/[^"]*)"', page)}
        assert ask(server, link.replace("&#x27;", "'"))[0] == 302


def test_what_cannot_be_served_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "nowhere")]) == 254
    assert "is no directory" in capsys.readouterr().err
    with serving(tmp_path) as server:
        assert main(["serve", str(tmp_path), "--port", str(server.server_port)]) == 255
    assert "--port 0" in capsys.readouterr().err


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chaos.cli", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as served:
        assert served.stdout is not None
        assert served.stdout.readline().startswith("0 runs on http://127.0.0.1:")
        served.send_signal(signal.SIGINT)
        assert served.wait(30) == 0
