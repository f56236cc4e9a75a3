"""Errors that an operator can do something about."""


class UsageError(Exception):
    """The command line asks for something that does not exist. Exit code 254."""


class OperatorError(Exception):
    """What, where, and the next command, in the lines of one message. Exit code 255."""
