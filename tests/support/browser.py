"""Pages opened in a real browser: what it draws, what it says on its console."""

import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--log-level=0",
)
_CONSOLE = re.compile(r'CONSOLE[:(]\d+\)?\] (".*)')
_BLOCKING = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """`dom` is the document after its scripts ran; `console` all that was reported there.

    Whatever a page tries to load against its own policy is reported on the console as well.
    """

    dom: str
    console: tuple[str, ...]
    picture: Path


def find_browser() -> str:
    """The path of a Chromium; without one the test fails and says what to install."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.fail(
            f"no browser: none of {', '.join(_NAMES)} is on the PATH; on Debian and Ubuntu: "
            "apt-get install chromium"
        )
    return found


def open_page(page: Path, scratch: Path, *, height: int = 2400) -> Opened:
    """Open a file twice, once for its DOM and once for a picture 1200 pixels wide."""
    browser = find_browser()
    picture = scratch / f"{page.stem}.png"
    address = page.resolve().as_uri()
    told = _run(browser, scratch, "--virtual-time-budget=10000", "--dump-dom", address)
    _run(browser, scratch, f"--window-size=1200,{height}", f"--screenshot={picture}", address)
    assert picture.exists(), f"{browser} took no picture of {page}"
    return Opened(dom=told.stdout, console=tuple(_CONSOLE.findall(told.stderr)), picture=picture)


def without_scripts(page: Path) -> Path:
    """A copy that a CI server would show: its policy lets no script run."""
    text = page.read_text(encoding="utf-8")
    copy = page.with_name(f"{page.stem}-blocked.html")
    copy.write_text(text.replace("<head>", f"<head>{_BLOCKING}", 1), encoding="utf-8")
    return copy


def _run(browser: str, scratch: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    profile = scratch / "browser-profile"
    shutil.rmtree(profile, ignore_errors=True)
    return subprocess.run(
        [browser, *_FLAGS, f"--user-data-dir={profile}", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def colours(picture: Path, top: int = 0, bottom: int | None = None) -> int:
    """How many different colours the rows from `top` to `bottom` of a PNG show."""
    rows = _rows(picture)[top:bottom]
    return len({row[at : at + 3] for row in rows for at in range(0, len(row), 3)})


def _rows(picture: Path) -> list[bytes]:
    """The RGB rows of a PNG with 8 bits a channel, not interlaced (as Chromium writes them)."""
    data = picture.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) in {(8, 2), (8, 6)}, (depth, kind)
    channels = 3 if kind == 2 else 4
    raw = zlib.decompress(_pixels(data))
    stride = width * channels
    rows: list[bytes] = []
    before = bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        line = bytearray(raw[start + 1 : start + 1 + stride])
        _unfilter(raw[start], line, before, channels)
        rows.append(bytes(line) if channels == 3 else _without_alpha(line))
        before = line
    return rows


def _pixels(data: bytes) -> bytes:
    at, found = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            found += data[at + 8 : at + 8 + length]
        at += 12 + length
    return found


def _without_alpha(line: bytearray) -> bytes:
    return b"".join(bytes(line[at : at + 3]) for at in range(0, len(line), 4))


def _unfilter(kind: int, line: bytearray, above: bytearray, step: int) -> None:
    """Undo a PNG row filter in place (PNG specification, 9)."""
    for at in range(len(line)):
        left = line[at - step] if at >= step else 0
        up = above[at]
        corner = above[at - step] if at >= step else 0
        if kind == 1:
            line[at] = (line[at] + left) & 255
        elif kind == 2:
            line[at] = (line[at] + up) & 255
        elif kind == 3:
            line[at] = (line[at] + (left + up) // 2) & 255
        elif kind == 4:
            line[at] = (line[at] + _paeth(left, up, corner)) & 255


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))
