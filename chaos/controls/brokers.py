"""A few seconds of appends to brokers without faults, by clients of four kinds.

Only the clients are wrong in these runs. Two must be valid: those of truthful clients, whether all
answers reach them or not.
"""

from dataclasses import replace

from chaos.controls.clients import deaf_clients, hasty_clients, rash_clients
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC

_LOAD = replace(PROMISED, partitions=2, rate=200.0)
_DURATION_S = 5.0

QUIET_BROKERS = Scenario(
    name="quiet-brokers",
    summary="clients append to brokers without faults, and record the truth",
    description=(
        "The baseline of the controls of brokers: nothing is planted, and no node may be accused."
    ),
    faults=(),
    default_duration_s=_DURATION_S,
    load=_LOAD,
    settings=TWO_IN_SYNC,
)

LOST_ANSWERS = replace(
    QUIET_BROKERS,
    name="lost-answers",
    summary="some acknowledgements never reach their client, which records an unknown outcome",
    description=(
        "The records are there all the same, and are counted as recovered. An idempotent producer "
        "sends them again, and gets their offsets. No node may be accused."
    ),
    clients=deaf_clients,
)

RASH_CLIENT = replace(
    QUIET_BROKERS,
    name="rash-client",
    summary="clients record a failure when an answer does not come: must be invalid",
    description=(
        "The records are there, and consumers read records of failed sends: an aborted read (G1a). "
        "It tests the judge, not the brokers."
    ),
    clients=rash_clients,
)

HASTY_CLIENT = replace(
    QUIET_BROKERS,
    name="hasty-client",
    summary="clients record acknowledgements before they send: must be invalid",
    description=(
        "The last records are never sent: they are acknowledged, and no broker has them; the "
        "invented offsets belong to other records. It tests the judge, not the brokers."
    ),
    clients=hasty_clients,
)
