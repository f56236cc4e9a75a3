"""What the operating system refused, told by its number: what to do about it differs."""

import errno
import os

_MAKE_ROOM = """
  try: kraft-chaos doctor; rm -r old runs/*; docker system prune; or --out DIRECTORY on another disk
  without it: runs that are already there can be read; kraft-chaos list and doctor"""
_ANOTHER_PLACE = "\n  try: --out DIRECTORY, one that can be written to"
_ENGINE = "\n  try: kraft-chaos doctor"
_TRIES = {
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
    errno.EROFS: _ANOTHER_PLACE,
    errno.EACCES: "\n  try: ls -l of it; it belongs to another user, or --out DIRECTORY elsewhere",
    errno.EPERM: "\n  try: as another user, or kraft-chaos doctor",
    errno.ENOENT: "\n  try: ls of the directory that it should be in",
    errno.ENOTDIR: "\n  try: the name of a directory",
    errno.EISDIR: "\n  try: the name of a file",
    errno.EEXIST: "\n  try: another name",
    errno.ENAMETOOLONG: "\n  try: a shorter name",
    errno.EMFILE: "\n  try: ulimit -n 8192",
    errno.ENFILE: "\n  try: fewer runs side by side (--jobs)",
    errno.ENOMEM: "\n  try: fewer runs side by side (--jobs)",
    errno.EADDRINUSE: "\n  try: kraft-chaos down, or whoever else listens there",
    errno.ECONNREFUSED: _ENGINE,
    errno.ECONNRESET: _ENGINE,
    errno.ETIMEDOUT: _ENGINE,
    errno.EHOSTUNREACH: _ENGINE,
}
_OTHERWISE = "\n  try: kraft-chaos --traceback ..."
_LONGEST_NAME = 80


def explained(error: OSError) -> str:
    """What was refused, of which file where the call knows that, and the next step."""
    what = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"{what}{_where(error)}{_TRIES.get(error.errno or 0, _OTHERWISE)}"


def _where(error: OSError) -> str:
    """Not every call knows which file it was about. A name stays on its line."""
    if not error.filename:
        return ""
    name = str(error.filename)
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    return f": {shown if shown.isprintable() else repr(shown)}"
