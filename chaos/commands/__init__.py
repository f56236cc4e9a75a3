"""What each command of `kraft-chaos` does; `chaos.cli` parses, dispatches and maps errors.

Results go to stdout, progress and errors to stderr. Every command returns its exit code.
"""
