"""Bytes of a file for people: where they are, in hexadecimal, and as text."""

from pathlib import Path

from chaos.audit.copies import ByteRange

_WIDTH, _LINES = 16, 8


def shown_bytes(path: Path, part: ByteRange) -> str:
    """The beginning of a range, a line every sixteen bytes; what is not there is said."""
    if not path.is_file():
        return "no such file"
    start = part.start // _WIDTH * _WIDTH
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(min(part.end - start, _WIDTH * _LINES))
    lines = [_line(start + at, content[at : at + _WIDTH]) for at in range(0, len(content), _WIDTH)]
    left = part.end - start - len(content)
    if len(content) == _WIDTH * _LINES and left > 0:
        lines.append(f"... {left:,} bytes more of this range")
    elif left > 0:
        lines.append(f"the file ends at {start + len(content):,}")
    return "\n".join(lines)


def _line(at: int, content: bytes) -> str:
    text = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in content)
    return f"{at:08x}  {content.hex(' '):<{3 * _WIDTH - 1}}  {text}"
