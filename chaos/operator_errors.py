"""Errors that an operator can do something about."""

UNREADABLE = 254  # the exit code: the line makes no sense, or names what cannot be read


class UsageError(Exception):
    """The command line asks for something that does not exist. Exit code 254."""


class OperatorError(Exception):
    """What, where, and the next command, in the lines of one message. Exit code 255."""
