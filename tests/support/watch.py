"""The quorum's invariants, checked at every trace line of a `tests.support.quorum.Quorum`.

Names as in `chaos.cluster.sim.invariants`: Q1 monotonic epoch, Q2 one leader an epoch, Q3 one
vote an epoch, Q5 log matching, Q6 and Q10 truncation, Q7 and Q8 high watermark, Q9 a majority has
it durably,
Q11 leader completeness, Q13 LeaderChange first, Q17 no leadership twice, Q18 durable before fetch.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import cast

from node.ids import NodeId
from node.records.batch import Batch
from tests.support.quorum import Quorum
from tests.support.quorum_members import TraceLine


class Violation(AssertionError):
    pass


def _demand(holds: bool, invariant: str, line: TraceLine, why: str) -> None:
    if not holds:
        raise Violation(f"{invariant} at {line.at_ns / 1e9:.3f} s: {why}\n  {line}")


@dataclass
class Watch:
    """Knows all of the history; call it with every line."""

    epochs: dict[NodeId, int] = field(default_factory=dict)
    leaders: dict[int, NodeId] = field(default_factory=dict)
    votes: dict[tuple[NodeId, int], tuple[int, str]] = field(default_factory=dict)
    batches: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    states: dict[NodeId, str] = field(default_factory=dict)
    own_hwm: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    leader_hwm: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    epoch_start: dict[int, int] = field(default_factory=dict)
    led: dict[tuple[NodeId, int], int] = field(default_factory=dict)
    committed: list[Batch] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def __call__(self, quorum: Quorum, line: TraceLine) -> None:
        self.seen.add(line.event)
        match line.event:
            case "q.state":
                self._on_state(quorum, line)
            case "q.vote" if line.fields["granted"]:
                voted = (_int(line, "candidate"), str(line.fields["candidate_dir"]))
                self._on_vote(line, voted)
            case "q.append":
                self._on_append(line)
            case "q.truncate":
                self._on_truncate(line)
            case "q.hwm":
                self._on_hwm(quorum, line)
            case "q.fetch" if line.fields["outcome"] == "valid":
                self._on_fetch(quorum, line)
            case _:
                pass

    def _on_state(self, quorum: Quorum, line: TraceLine) -> None:
        node, epoch, leader = line.node, _int(line, "epoch"), NodeId(_int(line, "leader"))
        self.states[node] = str(line.fields["state"])
        _demand(epoch >= self.epochs.get(node, 0), "Q1", line, "the epoch goes down")
        self.epochs[node] = epoch
        if leader != -1:
            rival = self.leaders.setdefault(epoch, leader)
            _demand(rival == leader, "Q2", line, f"n{rival} leads this epoch too")
        if _int(line, "voted") != -1:
            self._on_vote(line, (_int(line, "voted"), str(line.fields["voted_dir"])))
        elif self.states[node] in ("unattached", "prospective", "follower"):
            _demand((node, epoch) not in self.votes, "Q3", line, "its vote is forgotten")
        if self.states[node] == "leader":
            before = self.led.setdefault((node, epoch), line.incarnation)
            _demand(before == line.incarnation, "Q17", line, "led this epoch in an earlier life")
            log = quorum.members[node].log.batches
            complete = log[: len(self.committed)] == self.committed
            _demand(complete, "Q11", line, "the new leader lacks what is committed")

    def _on_vote(self, line: TraceLine, voted: tuple[int, str]) -> None:
        earlier = self.votes.setdefault((line.node, _int(line, "epoch")), voted)
        _demand(earlier == voted, "Q3", line, f"voted for {earlier} before")

    def _on_append(self, line: TraceLine) -> None:
        key = (_int(line, "epoch"), _int(line, "base"))
        content = (_int(line, "last"), _int(line, "crc"))
        known = self.batches.setdefault(key, content)
        _demand(known == content, "Q5", line, f"(epoch, offset) {key} is {known} elsewhere")
        if line.fields["role"] == "leader":
            self.epoch_start.setdefault(key[0], key[1])

    def _on_truncate(self, line: TraceLine) -> None:
        _demand(self.states[line.node] != "leader", "Q6", line, "a leader truncates")
        hwm = self.own_hwm.get((line.node, line.incarnation), 0)
        _demand(_int(line, "end") >= hwm, "Q10", line, f"below its high watermark {hwm}")

    def _on_hwm(self, quorum: Quorum, line: TraceLine) -> None:
        hwm, epoch, life = _int(line, "hwm"), _int(line, "epoch"), (line.node, line.incarnation)
        member = quorum.members[line.node]
        _demand(hwm >= self.own_hwm.get(life, 0), "Q8", line, "its high watermark goes down")
        _demand(hwm <= member.log.end().offset, "Q8", line, "beyond its log")
        self.own_hwm[life] = hwm
        if line.fields["role"] != "leader":
            return
        for other, values in self.leader_hwm.items():
            if other < epoch:
                _demand(hwm >= values[-1], "Q7", line, f"epoch {other} published {values[-1]}")
            elif other > epoch:
                _demand(hwm <= values[0], "Q7", line, f"epoch {other} published {values[0]}")
        self.leader_hwm[epoch].append(hwm)
        _demand(hwm > self.epoch_start[epoch], "Q13", line, "LeaderChange is not committed")
        self._commit(quorum, line, hwm)

    def _commit(self, quorum: Quorum, line: TraceLine, hwm: int) -> None:
        ends = [member.log.durable_end() for member in quorum.members.values()]
        holders = sum(end >= hwm for end in ends)
        _demand(holders * 2 > len(ends), "Q9", line, f"durable ends are {ends}")
        log = quorum.members[line.node].log.batches
        known = len(self.committed)
        same = known == 0 or (len(log) >= known and log[known - 1] == self.committed[-1])
        _demand(same, "Q11", line, "its log differs below the high watermark")
        while len(self.committed) < len(log):
            batch = log[len(self.committed)]
            if batch.header.next_offset > hwm:
                break
            self.committed.append(batch)

    def _on_fetch(self, quorum: Quorum, line: TraceLine) -> None:
        """The fetcher may have lost nothing below its fetch offset, unless it truncated since."""
        replica = quorum.members[NodeId(_int(line, "replica"))]
        end = replica.log.durable_end()
        if self.epochs.get(replica.key.id, 0) == _int(line, "epoch"):
            _demand(end >= _int(line, "offset"), "Q18", line, f"its durable end is {end}")

    def finish(self, quorum: Quorum) -> None:
        """Q12: what is committed is the same everywhere, as far as each log goes."""
        for member in quorum.members.values():
            hwm = self.own_hwm.get((member.key.id, member.incarnation), 0)
            for ours, theirs in zip(member.log.batches, self.committed, strict=False):
                if ours.header.next_offset > hwm:
                    break
                assert ours == theirs, f"Q12: n{member.key.id} differs at {ours.header}"


def _int(line: TraceLine, name: str) -> int:
    return cast("int", line.fields[name])
