"""Errors of a file that is no history."""

_EXCERPT = 60  # characters of a file that an error shows


class UnreadableHistoryError(Exception):
    """The file cannot be judged. Its message is one line: file, line, what was expected, found."""


class MalformedError(Exception):
    """The same while the name of the file is not known; never leaves `read_history`.

    `line` counts from 1; 0 if the fault is the file's as a whole.
    """

    def __init__(self, line: int, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.line = line


def excerpt(text: str) -> str:
    """The beginning of `text` on one line, quoted, safe to print on a terminal."""
    head = text[: _EXCERPT + 1].split("\n", 1)[0].rstrip("\r")
    if not head.strip():
        return "nothing" if not text.strip() else "an empty line"
    shown = head[:_EXCERPT] + ("..." if len(head) > _EXCERPT else "")
    return "'" + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown) + "'"
