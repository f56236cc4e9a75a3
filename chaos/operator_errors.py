"""Errors that an operator can do something about."""

UNREADABLE = 254  # exit code: invalid arguments, or an unreadable path


class UsageError(Exception):
    """The command line asks for something that does not exist. Exit code 254."""


class OperatorError(Exception):
    """An error with what happened, where, and the next command, on its lines. Exit code 255."""
