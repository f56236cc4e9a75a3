"""The directories that Jepsen leaves: a run, `store/NAME/TIME`, and the store of all runs.

    store/latest -> rethink/20260730T194745.000Z        also `current`, and store/NAME/latest
    store/rethink/20260730T194745.000Z/history.edn      with history.txt, test.jepsen, jepsen.log

`history.edn` says most; `history.txt` is the same in fewer words. A run that broke off has neither:
then `jepsen.log` has more of it than `test.jepsen`, which is written in pieces. (`jepsen.store`)
"""

from collections.abc import Sequence
from pathlib import Path

_ANALYZED = "results.edn"  # written when all others are complete
_WHOLE = ("history.edn", "history.txt", "test.jepsen", "jepsen.log")
_BROKEN_OFF = ("history.edn", "history.txt", "jepsen.log", "test.jepsen")
_LATEST = "latest"


def history_in(directory: Path) -> Path | None:
    """The best file of a run, or of the newest run of a store; None if there is none."""
    own = _best(directory)
    if own is not None:
        return own
    runs = [run for run in _runs(directory) if _best(run) is not None]
    latest = directory / _LATEST
    if latest.is_dir() and latest.resolve() in {run.resolve() for run in runs}:
        return _best(latest.resolve())
    # Their names are their start times.
    return _best(max(runs, key=lambda run: (run.name, str(run)))) if runs else None


def _best(run: Path) -> Path | None:
    names = _WHOLE if (run / _ANALYZED).is_file() else _BROKEN_OFF
    files = (run / name for name in names)
    return next((path for path in files if path.is_file() and path.stat().st_size), None)


def _runs(directory: Path) -> Sequence[Path]:
    """Directories one or two levels below, except links to others of them."""
    below = [path for path in sorted(directory.iterdir()) if _is_own(path)]
    return [
        *below,
        *(deeper for path in below for deeper in sorted(path.iterdir()) if _is_own(deeper)),
    ]


def _is_own(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
