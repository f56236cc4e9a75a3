"""E-CLEAN-LIE: the clean-shutdown file is written when a new broker is registered, whatever its
logs have at its end (KIP-966, "Detection of an unclean shutdown")."""

from chaos.mutations.planted import Planted
from node.broker.broker import Broker
from node.effects import SaveCleanShutdown
from node.ids import ChannelId
from node.wire.apis import Response

_on_response = Broker.on_response


def vouch_when_registered(
    self: Broker, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
) -> None:
    before = self.lifecycle.epoch
    _on_response(self, channel, correlation_id, response, mono_ns)
    if self.lifecycle.epoch != before and not set(self._shutdown._logs):
        self._shutdown._outbox.emit(SaveCleanShutdown(broker_epoch=self.lifecycle.epoch))


PLANTED = Planted(owner=Broker, decision="on_response", wrong=vouch_when_registered)
