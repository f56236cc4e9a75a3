"""White-box invariants: after every step of every simulated node, is the cluster still right?

Black-box checks see a bug once a client has observed its effect. These see it in the very step that
breaks a rule, in any run, and name that step. Numbers are those of `docs/reference/invariants.md`,
where there is such a check; other rules are named after what they say.

How they get at a node: `WatchedNode` (`surroundings`) stands between the shell and the node, and
hands each request and each step's output to a `ProcessMonitor` (`invariant_keeper`); `view` reads
the node's state, log and disk.

    Q1    a replica's epoch never goes down, over all its lives        watched_life.py
    Q2    all nodes, ever, know the same leader for an epoch           ledgers.py
    Q3    one vote an epoch, never forgotten: on disk, in a role, in an answer  ledgers.py
    Q4    a leader has the votes of a majority, as they were cast, and names them  ledgers.py
    Q5    one batch at (epoch, offset), and one prefix before it       known_batches.py
    Q6    a leader does not cut its log                                watched_life.py
    Q8    a high watermark does not go down in a life, nor past the log  watched_*.py, ledgers.py
    Q9    what is committed is durable on a majority, and stays so     ledgers.py
    Q10   no log is cut below its own high watermark                   watched_life.py
    Q11   a leader's log holds all that is committed                   ledgers.py
    Q12   all high watermarks speak of one log                         ledgers.py
    Q13   a leader's high watermark lies above its LeaderChange        watched_life.py
    Q14   a log starts at 0, or where the oldest snapshot ends         watched_life.py
    Q15   a snapshot ends within what is committed                     ledgers.py
    Q16   a leader does not replace its log by a snapshot              watched_life.py
    Q17   a restarted process does not lead its old epoch again        ledgers.py
    Q18   a Fetch asks from what is durable (and so claims no more)    watched_life.py
    Q19   a candidate is a voter by its own log, with its disk         watched_voters.py
    Q20   all nodes are of one cluster                                 watch.py
    P5    the first records name all listed nodes at once (KIP-856)    known_batches.py
    P5    nothing else is written before all of these have them        watched_voters.py
    V1    two sets of voters in a row differ by one voter              known_batches.py
    V2    one change of an epoch is uncommitted at a time              watched_voters.py
    V3    voters change once the leader's epoch is committed           watched_voters.py
    V4    a node's voters are those that the last record of its log names  watched_voters.py
    V5    no more changes are acknowledged than are committed          watched_voters.py
    V6    as Q9: a voter is a node with its disk                       ledgers.py
    V7    a directory is one node's                                    watch.py
    V8    as Q4 and Q9: a new disk has no vote, and counts for nothing  ledgers.py
    V9    a leader that is no voter resigns once that is committed     watched_voters.py
    V10   an added voter has all that its leader wrote                 watched_voters.py
    V11   a change of voters is answered within its time-out           watched_voters.py
    M2    a controller is active once it has replayed its LeaderChange   watched_life.py
    M2    images of the same offset are equal, from log or snapshot    ledgers.py
    epochs-have-an-origin    every epoch has a candidate, or a resignation before it
    asked-before-standing    a candidate was prospective right before, in the epoch below
    heard-leader-is-kept     no node gives up a leader that it heard within 0.9 fetch time-outs
    reads-are-confirmed      a majority sent a Fetch since a read arrived that is answered
    durable-before-visible   the disk holds the epoch, leader and vote that a node speaks of
    durable-before-asked     a vote is asked for with the end of what is durable
    votes-for-newer-logs     a vote goes to a log as new as what the voter holds durably, each time
    durable-stays            a new life finds all that was durable
    committed-before-applied the controller shows and acknowledges what is committed only

and of brokers, which keep the replicas of partitions (KIP-966):

    P1    one broker leads in a leader epoch, in one of its lives      broker_watch.py
    P4    a replica that joins an ISR was proposed in this broker epoch  committed_changes.py
    P5    a replica proposed for an ISR has caught up                  watched_broker.py
    P6    an ISR that a leader uses is committed                       watched_broker.py
    P7    all of the committed ISR have what is below the high watermark  broker_watch.py
    P8    a high watermark moves while the ISR has min ISR             watched_broker.py
    P10   a new leader has all that was ever shown to consumers        broker_watch.py
    P11   replicas agree, batch by batch; so does what leaders show    broker_watch.py
    P12   a leader's high watermark rises, within its log              watched_broker.py
    P16   no follower truncates what was shown to consumers            broker_watch.py
    P18   a broker that has caught up, and asks for it, is unfenced    broker_watch.py
    E1-E4, E7, E9, E11    how ISR, ELR and leader may change           committed_changes.py
    reassigned-when-in-sync    when a reassignment may end             committed_changes.py
    E5    a broker is in no ISR or ELR after an unclean shutdown       committed_changes.py
    E6    a broker that lost records does not claim a clean shutdown   committed_changes.py

Answers are contracts: each answer, also a refusal, is judged in the step in which it is sent, by
the request, the logs of all nodes and the metadata. The names of these rules, and what each
promises, are in `rules.py`:

    Produce, Fetch, ListOffsets, by the logs of all brokers        log_answers.py
    where epochs end and logs begin, and what is deleted           epoch_end_answers.py
    leaders, in refusals and in Metadata, by the metadata log      epoch_end_answers.py
    groups: their coordinators, generations, commits               group_answers.py, broker_watch.py
    answers of controllers about themselves and the quorum         controller_answers.py
    their acknowledgements, and their refusals to brokers          acknowledged_writes.py,
                                                                   controller_answers.py

What changes in the step of an answer may have changed before it or after it: both are right then.
Nor is an answer judged by what a replica did before it led or followed in the answer's epoch.

The modules:

    watch.py                the watch over the nodes of a whole quorum
    watched_life.py         one life of one node, step by step
    watched_voters.py       the voters in one life of one node
    ledgers.py              what the lives of all nodes share
    known_batches.py        all batches, as one tree that logs point into
    view.py                 what is read of a node: its state, log and disk
    broker_watch.py         the watch over all brokers
    watched_broker.py       one life of one broker, step by step
    committed_changes.py    changes of partitions and brokers in the metadata log
    broker_answers.py       the answers of one life of a broker
    log_answers.py            answers to Produce, Fetch and ListOffsets
    epoch_end_answers.py          answers about epoch ends, log starts and leaders
    group_answers.py          answers about groups
    controller_answers.py   answers of one life of a controller
    acknowledged_writes.py  acknowledgements of controllers
    rules.py                names of rules; how a broken one is reported

Each rule counts how often it had something to judge (`Looked`); a run keeps the counts
(`looked_at`), for answers also the zeros: a rule that never judges anything is none.

P10 and P16 allow for what KIP-966 does not cover: an unclean election, min ISR brokers with lost
records, no eligible leader replicas.

They judge the node's decisions and share none with it: what a majority is, what a role says and
what follows from an election is decided here again. Of the node they know the types of what it
holds and sends, and the formats of its disk (an import contract). They read the metadata log's
state of partitions as brokers replay it; the judge checks with its own reader whether that is
right.

The simulator makes one `Watch` a run, and

    watch = Watch(voters, fetch_timeout_ms)      # the voters of the formatted disks
    view = CoreView(node.core, log, disk=...)
    life = watch.begin(key, view, at_ns)         # the log is open, the node has not started
    life.before_truncation(end)                  # a TruncateLog is about to be performed
    life.before_replacement()                    # a ReplaceLog is
    life.after_sync()                            # a flush ended while no step was taken
    life.after_step(outputs, at_ns)              # all effects of a step were performed

and a `BrokerWatch` beside it, for the lives of brokers (`WatchedBroker`), and for the answers of
controllers to them (`LetIn`), which are judged also where the quorum is not (static voters). Each
life of a controller has its `ControllerAnswers`.

The end of a life needs no call, however it ends: what a kill or a power cut left is read from the
disk when the next one begins. A node that dies in the middle of a step gets no `after_step` for it.
Outputs are those of `node.core` (`Node.decide`), before they become frames. `InvariantViolated`
ends the run; no code may take it for the node's own failure.

A step costs some microseconds, whatever the length of the logs, for these are pointers into one
tree (`known_batches.py`). Only a new life reads its whole log.
"""

from chaos.cluster.sim.invariants.broker_answers import ReadClock
from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, LetIn
from chaos.cluster.sim.invariants.controller_answers import ControllerAnswers
from chaos.cluster.sim.invariants.rules import InvariantViolated, Looked
from chaos.cluster.sim.invariants.view import ControllerView, CoreView, Durable, View
from chaos.cluster.sim.invariants.watch import Watch
from chaos.cluster.sim.invariants.watched_broker import WatchedBroker
from chaos.cluster.sim.invariants.watched_life import WatchedLife

__all__ = [
    "BrokerWatch",
    "ControllerAnswers",
    "ControllerView",
    "CoreView",
    "Durable",
    "InvariantViolated",
    "LetIn",
    "Looked",
    "ReadClock",
    "View",
    "Watch",
    "WatchedBroker",
    "WatchedLife",
]
