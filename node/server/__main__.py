"""`python3 -m node.server`: the program `kraft-node`."""

import gc


def main() -> None:
    """Import the program, then run it. What is imported stays: the garbage collector, which would
    look through it several times, took a third of the import's time."""
    gc.disable()
    from node.server.cli import main as run

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
