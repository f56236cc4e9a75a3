"""Errors that an operator can do something about, and errors of the operating system as such."""

import difflib
import errno
import os
from collections.abc import Iterable

UNREADABLE = 254  # exit code: invalid arguments, or an unreadable path


class UsageError(Exception):
    """The command line asks for something that does not exist. Exit code 254."""


class OperatorError(Exception):
    """An error with what happened, where, and the next command, on its lines. Exit code 255."""


def like(word: str, known: Iterable[str]) -> str:
    """The known words that are most like a misspelt one, or all of them, for its message."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    return f"like it: {', '.join(near)}" if near else f"known: {', '.join(names)}"


# Errors of the operating system, by number, each with its own next step.


_MAKE_ROOM = """
  try: kraft-chaos doctor; rm -r old runs/*; docker system prune; or --out DIRECTORY on another disk
  without it: runs that are already there can be read; kraft-chaos list and doctor"""
_ANOTHER_PLACE = "\n  try: --out DIRECTORY, one that can be written to"
_ENGINE = "\n  try: kraft-chaos doctor"
_TRIES = {
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
    errno.EROFS: _ANOTHER_PLACE,
    errno.EACCES: "\n  try: ls -l of it (it may belong to another user), or --out DIRECTORY "
    "elsewhere",
    errno.EPERM: "\n  try: as another user, or kraft-chaos doctor",
    errno.ENOENT: "\n  try: ls of the directory that it should be in",
    errno.ENOTDIR: "\n  try: the name of a directory",
    errno.EISDIR: "\n  try: the name of a file",
    errno.EEXIST: "\n  try: another name",
    errno.ENAMETOOLONG: "\n  try: a shorter name",
    errno.EMFILE: "\n  try: ulimit -n 8192",
    errno.ENFILE: "\n  try: fewer runs side by side (--jobs)",
    errno.ENOMEM: "\n  try: fewer runs side by side (--jobs)",
    errno.EADDRINUSE: "\n  try: kraft-chaos down, or stop the process that listens there",
    errno.ECONNREFUSED: _ENGINE,
    errno.ECONNRESET: _ENGINE,
    errno.ETIMEDOUT: _ENGINE,
    errno.EHOSTUNREACH: _ENGINE,
}
_OTHERWISE = "\n  try: kraft-chaos --traceback ..."
_LONGEST_NAME = 80


def explained(error: OSError) -> str:
    """What was refused, for which file if the call knows it, and the next step."""
    what = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"{what}{_where(error)}{_TRIES.get(error.errno or 0, _OTHERWISE)}"


def _where(error: OSError) -> str:
    """Not every error has a file name. A name stays on its line."""
    if not error.filename:
        return ""
    name = str(error.filename)
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    return f": {shown if shown.isprintable() else repr(shown)}"
