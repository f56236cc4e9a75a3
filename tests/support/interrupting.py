"""An impatient hand at a harness that runs in a process of its own."""

import signal
import subprocess

BEGUN = "removing everything that was started"


def interrupt_twice(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    """Tell it to stop, and again once it says that it does; all of its stdout and stderr."""
    with process:  # which waits for its end
        assert process.stdout is not None
        assert process.stderr is not None
        process.send_signal(number)
        said = []
        for line in process.stderr:
            said.append(line)
            if BEGUN in line:
                break
        process.send_signal(number)
        err = "".join([*said, process.stderr.read()])
        return process.stdout.read(), err
