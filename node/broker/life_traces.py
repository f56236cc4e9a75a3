"""What a broker tells of its own life (`node.trace`): how far it is, and what it is taken for."""

from node.broker.lifecycle import Lifecycle, LifeState
from node.outbox import Outbox

_VOUCHING = "vouching"


class LifeTraces:
    def __init__(self, lifecycle: Lifecycle, previous_epoch: int, outbox: Outbox) -> None:
        self._lifecycle = lifecycle
        self._previous_epoch = previous_epoch
        self._outbox = outbox
        self._was_unregistered = False
        self._told: tuple[LifeState | str, int, bool] | None = None

    def poll(self) -> None:
        """Tell what has changed."""
        self._tell(self._lifecycle.state)
        is_gone = self._lifecycle.is_unregistered
        if is_gone and not self._was_unregistered:
            self._outbox.trace("b.unregistered", epoch=self._lifecycle.epoch)
        self._was_unregistered = is_gone

    def vouch(self) -> None:
        """The file that vouches for this life's logs is about to be written."""
        self._tell(_VOUCHING)

    def _tell(self, state: LifeState | str) -> None:
        life = self._lifecycle
        now = (state, life.epoch, life.is_fenced)
        if now == self._told:
            return
        self._told = now
        self._outbox.trace(
            "b.life",
            state=state if isinstance(state, str) else state.name.lower().replace("_", "-"),
            epoch=life.epoch,
            previous=self._previous_epoch,
            fenced=life.is_fenced,
        )
