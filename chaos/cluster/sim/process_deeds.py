"""What the turns of a process ask for, done: with sockets and a disk that are simulated."""

from collections.abc import Callable
from typing import Any

from chaos.cluster.sim.process_logs import ProcessLogs
from chaos.cluster.sim.surroundings import Surroundings
from node.effects import (
    AppendBatches,
    CloseConnection,
    DeleteBeforeSnapshot,
    DisconnectPeer,
    FinishSnapshot,
    FlushLog,
    NoResponse,
    OnReplicas,
    OpenListeners,
    PersistElectionState,
    ReplaceLog,
    SendPieces,
    SendResponse,
    SendToPeer,
    Stop,
    Trace,
    TruncateLog,
    WriteSnapshot,
)
from node.events import Event, LogFlushed
from node.ids import METADATA_LOG
from node.server.peer_links import PeerLinks
from node.server.tcp import Connections
from node.server.traces import TraceWriter
from node.storage.election_store import ElectionStore
from node.storage.log_changes import perform
from node.turn import Deed


class ProcessDeeds:
    """`at_once`: those that take no time, by their type; while it does one of the others, a process
    waits for the disk."""

    def __init__(
        self,
        *,
        elections: ElectionStore,
        logs: ProcessLogs,
        traces: TraceWriter,
        connections: Connections,
        peers: PeerLinks,
        feed: Callable[[Event], None],
        stop: Callable[[Stop], None],
        open_listeners: Callable[[OpenListeners], None],
        around: Surroundings,
    ) -> None:
        self._elections = elections
        self._logs = logs
        self._traces = traces
        self._connections = connections
        self._peers = peers
        self._feed = feed
        self._around = around
        self.at_once: dict[type[Deed], Callable[[Any], None]] = {
            Trace: self._trace,
            SendResponse: self._send_response,
            SendPieces: self._send_pieces,
            SendToPeer: self._send_to_peer,
            AppendBatches: self._append,
            NoResponse: self._send_nothing,
            CloseConnection: self._close,
            DisconnectPeer: self._disconnect,
            OpenListeners: open_listeners,
            Stop: stop,
        }

    def on_disk(self, deed: Deed) -> None:
        """The disk was waited for."""
        match deed:
            case FlushLog():
                self._around.between()
                self._feed(LogFlushed(deed.log, self._logs[deed.log].flush()))
            case TruncateLog():
                if deed.log == METADATA_LOG:
                    self._around.post.before_truncation(deed.end)
                self._logs[deed.log].truncate(deed.end)
            case PersistElectionState():
                self._elections.save(deed.state)
            case ReplaceLog():
                self._around.post.before_replacement()
                perform(deed, self._logs[deed.log])
            case WriteSnapshot() | FinishSnapshot() | DeleteBeforeSnapshot():
                perform(deed, self._logs[deed.log])
            case OnReplicas():
                self._logs.change(deed)
            case _:
                raise AssertionError(f"{deed} takes no time")

    # --- at once ---

    def _trace(self, deed: Trace) -> None:
        self._traces.add(deed, self._around.clock.true())

    def _send_response(self, deed: SendResponse) -> None:
        self._connections.send_frame(deed.connection, deed.frame)

    def _send_pieces(self, deed: SendPieces) -> None:
        self._connections.send_pieces(deed.connection, deed.pieces)

    def _send_to_peer(self, deed: SendToPeer) -> None:
        self._peers.send(deed.channel, deed.endpoint, deed.frame)

    def _append(self, deed: AppendBatches) -> None:
        self._logs[deed.log].append(deed.data)

    def _send_nothing(self, deed: NoResponse) -> None:
        self._connections.go_on(deed.connection)

    def _close(self, deed: CloseConnection) -> None:
        self._connections.close(deed.connection)

    def _disconnect(self, deed: DisconnectPeer) -> None:
        self._peers.disconnect(deed.channel)
