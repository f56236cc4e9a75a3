"""Leaders of partitions: a broker's answers about itself and others, compared with the metadata."""

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, KeptReplicas
from chaos.cluster.sim.invariants.eligible_rules import Key
from chaos.cluster.sim.invariants.heard_requests import Heard
from node.errors import ErrorCode
from node.ids import ZERO_UUID
from node.wire.topic_metadata import DescribedPartition, MetadataResponse

_NOBODY = -1


class TruthOfLeaders:
    """Answers of one life of a broker. Raises Broken. What changed in the very step of an answer is
    not judged: the answer may be from before or after that."""

    def __init__(self, watch: BrokerWatch, held: KeptReplicas, looked: Looked) -> None:
        self._watch = watch
        self._held = held
        self._looked = looked

    def may_ask(self, key: Key, replica: int) -> bool:
        """Consumers, and those that keep a replica."""
        state = self._held.image.topics.partition(*key)
        return replica < 0 or (state is not None and replica in state.replicas)

    def check_denied(self, key: Key, asked: Heard) -> None:
        """It answers that it does not lead, to a request that arrived after it had begun to."""
        rule, held = "leaders-do-not-deny-it", self._held
        begun, state = held.begun.get(key), held.image.topics.partition(*key)
        if begun is None or state is None or held.has_news:
            return
        self._looked[rule] += 1
        leads = state.leader == held.node and begun.epoch == state.leader_epoch and begun.leads
        if leads and begun.step < asked.step:
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers that it does not lead {name}, and leads it in leader epoch "
            )
            raise Broken(rule, f"{what}{begun.epoch}")

    def check_refused_epoch(self, key: Key, said: int, error: ErrorCode) -> None:
        """Epochs rise: the refused one is older than the one known after the step, or newer than
        the one before."""
        rule, held = "refused-epochs-are-others", self._held
        begun = held.begun.get(key)
        before = held.epoch_before(key)
        if begun is None or before is None:
            return
        self._looked[rule] += 1
        is_older = error is ErrorCode.FENCED_LEADER_EPOCH
        if not (0 <= said < begun.epoch if is_older else said > before):
            known = begun.epoch if is_older else before
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers {error.name} for {name} to a request with leader epoch "
                f"{said}, "
            )
            raise Broken(rule, f"{what}and knows {known} itself")

    def check_unknown(self, key: Key) -> None:
        """`key` was found in the newest image of the broker."""
        rule, held = "unknown-is-not-there", self._held
        if held.has_news:
            return
        self._looked[rule] += 1
        if held.image.topics.partition(*key) is not None:
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers that it does not know {name}, and its metadata has it below "
            )
            raise Broken(rule, f"{what}{held.applied}")

    def check_told(self, key: Key, leader: int, epoch: int) -> None:
        """The leader of a partition, named by a replica that does not lead it."""
        if leader == _NOBODY or epoch < 0:
            return
        rule = "told-leaders-led"
        known = self._watch.changes.leader_in(key, epoch)
        if known is None:
            return  # between two snapshots
        self._looked[rule] += 1
        if known != leader:
            name = self._watch.partition(key).name
            what = (
                f"n{self._held.node} answers that n{leader} leads {name} in leader epoch {epoch}, "
            )
            raise Broken(rule, f"{what}in which n{known} does")

    def described(self, told: MetadataResponse) -> None:
        rule, held = "told-metadata-is-so", self._held
        if held.has_news:
            return
        for topic in told.topics:
            if topic.error is not ErrorCode.NONE or topic.id == ZERO_UUID:
                continue
            for each in topic.partitions:
                self._looked[rule] += 1
                self._check_described((topic.id, each.index), each)

    def _check_described(self, key: Key, told: DescribedPartition) -> None:
        """A leader that is down is reported as none."""
        state = self._held.image.topics.partition(*key)
        is_so = state is not None and (
            (told.leader_epoch, told.replicas, told.isr)
            == (state.leader_epoch, state.replicas, state.isr)
            and told.leader in (state.leader, _NOBODY)
        )
        if not is_so:
            name = self._watch.partition(key).name
            what = (
                f"n{self._held.node} answers for {name} with {told}, and its metadata has {state}"
            )
            raise Broken("told-metadata-is-so", what)
