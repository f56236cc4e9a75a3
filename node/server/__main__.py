"""`python3 -m node.server`: the program `kraft-node`."""

import gc


def main() -> None:
    """Import the program, then be it. What is imported stays: the collector, which would look
    through all of it several times, took a third of the time that it takes."""
    gc.disable()
    from node.server.cli import main as run

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
