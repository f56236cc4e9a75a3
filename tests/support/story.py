"""The text of a story file: what happened to the nodes, and what they did about it.

    # A voter casts one vote per epoch.
    vote-request from=n2 to=n1 epoch=5
    ----
    n1 -> n2 vote granted epoch=5

Blocks stand apart by an empty line. A block is comments and commands, then `----`, then what came
of the commands. A block without `----` prepares the scene, and what came of it is not told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

RULE = "----"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command, or a comment, and where in its file it stands (from 1)."""

    number: int
    text: str

    @property
    def is_command(self) -> bool:
        return not self.text.startswith("#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`outcome` is None for a block that only prepares."""

    lines: tuple[Line, ...]
    outcome: tuple[str, ...] | None

    @property
    def commands(self) -> list[Line]:
        return [line for line in self.lines if line.is_command]


def parse_story(text: str) -> list[Block]:
    """Raises ValueError on an outcome without a command."""
    blocks: list[Block] = []
    open_lines: list[Line] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            open_lines.append(Line(number=number, text=line.rstrip()))
        elif open_lines:
            blocks.append(_block(open_lines))
            open_lines = []
    return blocks


def _block(lines: Sequence[Line]) -> Block:
    texts = [line.text for line in lines]
    if RULE not in texts:
        return Block(lines=tuple(lines), outcome=None)
    at = texts.index(RULE)
    block = Block(lines=tuple(lines[:at]), outcome=tuple(texts[at + 1 :]))
    if not block.commands:
        raise ValueError(f"line {lines[at].number}: nothing was asked for")
    return block


def format_story(blocks: Sequence[Block]) -> str:
    """The inverse of `parse_story`, with one empty line between blocks."""
    return "\n\n".join("\n".join(_block_lines(block)) for block in blocks) + "\n"


def _block_lines(block: Block) -> list[str]:
    lines = [line.text for line in block.lines]
    return lines if block.outcome is None else [*lines, RULE, *block.outcome]


def retell(blocks: Sequence[Block], perform: Callable[[Sequence[Line]], list[str]]) -> list[Block]:
    """The same blocks with what really comes of their commands."""
    told = []
    for block in blocks:
        outcome = perform(block.commands)
        told.append(
            Block(lines=block.lines, outcome=None if block.outcome is None else tuple(outcome))
        )
    return told
