"""What holds of every kind of fault, whatever it does: one description, and all of it used."""

import json
import random
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.cluster.interface import (
    Addition,
    Advertised,
    AlteredMinIsr,
    DiskTrouble,
    ElectionType,
    ElrLevel,
    MovedReplica,
    MoveEnd,
    NodeId,
    Removal,
    StoppedDisk,
    Voted,
)
from chaos.nemesis.abilities import PROTOCOLS, Ability
from chaos.nemesis.fault import Fault, OfLinks, cure, inject, parameters_of, with_parameters
from chaos.nemesis.kinds import BY_KIND, KINDS, MENACES
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.links import ShutOut
from chaos.nemesis.kinds.power import PowerOff, StopThenPowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.removals import AddBroker, KillRemoved, RemoveForGood, RestartRemoved
from chaos.nemesis.kinds.switches import SwitchProgram, SwitchVoter
from chaos.nemesis.kinds.upkeep import (
    ElectLeaders,
    MoveReplicas,
    Readdress,
    ReassignPartitions,
    SetElrLevel,
    SetMinIsr,
    SyncDisks,
)
from chaos.nemesis.kinds.voters import LoseDisk, RemoveLeadingDirectory, RemoveVoter
from chaos.nemesis.recorded import FAULTS, fault_as_json, fault_from
from chaos.nemesis.victims import (
    AllBrokers,
    AllFollowers,
    AllVoters,
    ControllerLeader,
    FollowerThatVoted,
    LeaderAnd,
    OneNode,
    PartitionLeader,
    RandomBroker,
    RandomFollower,
    RandomNode,
    SomeNodes,
    Victim,
)
from chaos.probes import driver_for
from chaos.recorder import Recorder
from chaos.run.watches import QuorumAnswers
from tests.chaos.test_recorder import HandClock
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time
from tests.workloads.test_operator import REACHED
from workloads.operation_history import Tally
from workloads.operator import Operator

_COUNTS = st.integers(0, 99)
VICTIMS: st.SearchStrategy[Victim] = st.one_of(
    st.sampled_from([ControllerLeader(), RandomFollower(), AllVoters(), RandomNode()]),
    st.sampled_from([PartitionLeader(), RandomBroker(), AllBrokers(), AllFollowers()]),
    st.builds(SomeNodes, _COUNTS),
    st.builds(LeaderAnd, _COUNTS),
    st.builds(OneNode, _COUNTS.map(NodeId)),
)
_VALUES: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(-(10**9), 10**9),
    float: st.floats(allow_nan=False, allow_infinity=False),
}


def _value(hint: Any) -> st.SearchStrategy[Any]:
    choices = [
        st.none()
        if each is type(None)
        else st.sampled_from(sorted(each))
        if issubclass(each, StrEnum)
        else _VALUES[each]
        for each in get_args(hint) or (hint,)
    ]
    return st.one_of(choices)


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    """Any fault of any kind."""
    kind: Any = draw(st.sampled_from(KINDS))
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if each.name != "victim"]
    values = {name: draw(_value(hints[name])) for name in names}
    made: Fault = kind(victim=draw(VICTIMS), **values)
    return made


@given(faults())
def test_every_fault_comes_back_from_its_words(fault: Fault) -> None:
    words = json.loads(json.dumps(fault_as_json(fault)))
    assert fault_from(**words) == fault


@given(faults())
def test_every_fault_is_of_a_kind_that_is_registered(fault: Fault) -> None:
    assert fault.kind in fault.kinds
    assert BY_KIND[fault.kind] is type(fault)
    assert set(fault.needs) <= set(Ability)


@given(faults())
def test_what_a_fault_does_to_bytes_it_does_to_a_process_first(fault: Fault) -> None:
    harm = fault.harm
    assert harm.ends_process >= (harm.unclean or harm.may_lose)
    assert harm.may_lose >= (harm.damages_bytes or harm.wipes)
    assert harm.cuts <= isinstance(fault, OfLinks)


def test_no_name_stands_for_two_kinds() -> None:
    names = [name for kind in KINDS for name in kind.kinds]
    assert len(names) == len(set(names)) == len(BY_KIND)
    assert sum(len(kind.swarm_specs) for kind in KINDS) == len(MENACES)


def test_words_that_a_kind_does_not_know_are_refused() -> None:
    with pytest.raises(ValueError, match="kill has no parameter share"):
        with_parameters(Kill, RandomNode(), {"share": "0.5"})
    with pytest.raises(ValueError, match="flaky-links needs its share"):
        fault_from("flaky-links", "leader", {})
    with pytest.raises(KeyError, match="tickle"):
        fault_from("tickle", "leader", {})


def test_parameters_that_are_as_always_are_not_told() -> None:
    assert parameters_of(Kill(victim=RandomNode())) == {}
    assert parameters_of(Kill(victim=RandomNode(), latency_ms=700)) == {"latency_ms": "700"}
    assert parameters_of(FAULTS["partition-leader"]) == {"ways": "both"}
    assert parameters_of(FAULTS["power-off-all"]) == {"mode": "lose-all"}


ONE_EACH = [menace.make(random.Random(name), 5) for name, menace in MENACES.items()] + [
    Wipe(victim=AllVoters()),
    ShutOut(victim=RandomNode()),
    Kill(victim=RandomFollower(), latency_ms=100),
    *(StopThenPowerOff(victim=AllBrokers(), disk=disk) for disk in StoppedDisk),
    SyncDisks(victim=AllBrokers()),
    *(MoveReplicas(victim=AllBrokers(), replica=replica) for replica in MovedReplica),
    *(Readdress(victim=AllFollowers(), advertised=advertised) for advertised in Advertised),
    *(PowerOff(victim=AllVoters(), disks=disks) for disks in DiskTrouble),
    LoseDisk(victim=RandomFollower()),
    RemoveVoter(victim=ControllerLeader()),
    RemoveLeadingDirectory(victim=ControllerLeader()),
    SwitchProgram(victim=ControllerLeader()),
    SwitchVoter(victim=RandomFollower()),
    *(RestartRemoved(victim=FollowerThatVoted(voted)) for voted in Voted),
    RemoveForGood(victim=RandomFollower()),
    *(KillRemoved(victim=ControllerLeader(), removal=removal) for removal in Removal),
    *(AddBroker(victim=RandomBroker(), addition=addition) for addition in Addition),
    *(SetElrLevel(victim=RandomBroker(), level=level) for level in ElrLevel),
    *(ElectLeaders(victim=RandomBroker(), election=election) for election in ElectionType),
    *(SetMinIsr(victim=RandomBroker(), min_isr=value) for value in AlteredMinIsr),
    *(ReassignPartitions(victim=RandomBroker(), end=end) for end in MoveEnd),
]


def test_there_is_one_of_each_kind() -> None:
    assert {type(fault) for fault in ONE_EACH} == set(KINDS)


@pytest.mark.parametrize("fault", ONE_EACH, ids=lambda fault: f"{fault.kind} {fault.victim}")
def test_a_fault_says_exactly_what_it_takes(
    fault: Fault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("chaos.nemesis.kinds.power.TROUBLED_S", dict.fromkeys(DiskTrouble, 0))
    cluster = FakeCluster()

    async def hurt_and_cure(recorder: Recorder) -> None:
        await cluster.create()
        operator = Operator(
            driver_for(cluster), REACHED, recorder, Tally(), QuorumAnswers(recorder, HandClock())
        )
        try:
            hit = await inject(cluster, fault, (NodeId(1), NodeId(2)), operator=operator)
            await cure(cluster, hit)
        finally:
            operator.close()
            await cluster.destroy()

    with Recorder(tmp_path, HandClock()) as recorder:
        in_virtual_time(hurt_and_cure(recorder))
    called = {call.split()[0] for call in cluster.calls}
    used = {need for need, protocol in PROTOCOLS.items() if called & vars(protocol).keys()}
    assert used == set(fault.needs)
