"""The registry of moments, and the stage on which they are reached."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.cluster.interface import NodeId
from chaos.cluster.targets.named import layout
from chaos.errors import OperatorError
from chaos.labs.audit.all_moments import MOMENTS, moments_of
from chaos.labs.audit.moment import Acknowledgement, Moment, Question, Stage, asked
from chaos.labs.audit.next_start import KINDS
from tests.support.fake_cluster import FakeCluster


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_every_moment_is_reached_on_a_target_that_can_be_asked_and_configured_so(
    moment: Moment,
) -> None:
    assert moment.ways
    assert moment.ways.keys() <= KINDS.keys()
    for target, way in moment.ways.items():
        made, count = layout(target, way.nodes, way.settings)
        controllers = [n for n in range(1, count + 1) if not made.roles(NodeId(n)).is_broker]
        assert controllers or not way.controllers_only
        assert made.formats_at_start == (moment.name in ("formatted", "first-start"))
        assert made.waits_when_formatted == (moment.name == "formatted")


def test_targets_have_their_moments_in_the_order_of_all() -> None:
    assert [moment.name for moment in moments_of("kafka")] == [
        name for name, moment in MOMENTS.items() if "kafka" in moment.ways
    ]


def question(answers: list[str]) -> Question:
    async def ask() -> str:
        if not answers:
            raise OperatorError("nobody leads")
        return answers.pop(0)

    return Question(text="who", rests_on=("orders-0",), ask=ask)


def test_who_does_not_answer_has_not_kept_it() -> None:
    expected = Acknowledgement(question=question([]), value="5", promised=True)
    (answer,) = asyncio.run(asked([expected]))
    assert answer.broken
    assert answer.answered == "no answer: nobody leads"


@pytest.mark.parametrize(("settles_within_s", "kept"), [(10.0, True), (0.0, False)])
def test_an_image_may_follow_its_log(settles_within_s: float, kept: bool) -> None:
    late = replace(question(["not there", "there"]), settles_within_s=settles_within_s)
    expected = Acknowledgement(question=late, value="there", promised=True)
    (answer,) = asyncio.run(asked([expected]))
    assert answer.broken != kept


def stage(tmp_path: Path) -> Stage:
    cluster = FakeCluster()
    return Stage(cluster=cluster, client=None, victims=cluster.nodes, scratch=tmp_path)  # type: ignore[arg-type]  # which copies no disks


def test_what_goes_on_ends_with_the_cut(tmp_path: Path) -> None:
    async def live() -> int:
        found = stage(tmp_path)
        acts = 0

        async def act() -> None:
            nonlocal acts
            while True:
                acts += 1
                await asyncio.sleep(0)

        found.goes_on(act())
        while acts < 3:
            await asyncio.sleep(0)
        await found.end()
        ended = acts
        for _ in range(5):
            await asyncio.sleep(0)
        return acts - ended

    assert asyncio.run(live()) == 0


def test_what_goes_wrong_meanwhile_is_told(tmp_path: Path) -> None:
    async def live() -> None:
        found = stage(tmp_path)

        async def act() -> None:
            raise OperatorError("refused")

        found.goes_on(act())
        await asyncio.sleep(0)
        await found.end()

    with pytest.raises(OperatorError, match="refused"):
        asyncio.run(live())
