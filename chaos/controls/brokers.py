"""A few seconds of appends to brokers that nobody hurts, by clients of four kinds.

Whatever is wrong in these runs the clients have done. Two must be found valid: those of clients
that tell the truth, whether all answers reach them or not.
"""

from dataclasses import replace

from chaos.controls.clients import deaf_clients, hasty_clients, rash_clients
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC

_LOAD = replace(PROMISED, partitions=2, rate=200.0)
_DURATION_S = 5.0

QUIET_BROKERS = Scenario(
    name="quiet-brokers",
    summary="clients append to brokers without faults, and report the truth",
    description=(
        "What the controls of brokers are compared with: nothing is planted, and no node may be "
        "accused."
    ),
    faults=(),
    default_duration_s=_DURATION_S,
    load=_LOAD,
    settings=TWO_IN_SYNC,
)

LOST_ANSWERS = replace(
    QUIET_BROKERS,
    name="lost-answers",
    summary="some acknowledgements never reach their client, which says that it does not know",
    description=(
        "The records are there all the same, and are counted as recovered. An idempotent producer "
        "sends them again, and is told where they are. No node may be accused."
    ),
    clients=deaf_clients,
)

RASH_CLIENT = replace(
    QUIET_BROKERS,
    name="rash-client",
    summary="clients say that a send failed when its answer does not come: must be red",
    description=(
        "The records are there, and consumers are given what surely never happened: an aborted "
        "read (G1a). It proves the judge, not the brokers."
    ),
    clients=rash_clients,
)

HASTY_CLIENT = replace(
    QUIET_BROKERS,
    name="hasty-client",
    summary="clients acknowledge records before they send them: must be red",
    description=(
        "The last ones are never sent, and are acknowledged records that nobody has; the offsets "
        "that were made up are those of other records. It proves the judge, not the brokers."
    ),
    clients=hasty_clients,
)
