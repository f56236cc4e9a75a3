"""Random walks of a leader and a controller: who may lead has what was shown (KIP-966)."""

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from node.errors import ErrorCode
from tests.support.led_partition import LAG, LedPartition

if TYPE_CHECKING:
    from node.broker.replicas.isr import Proposal

# --- any order ---

STEPS = ["append", "fetch", "fetch", "fetch", "wait", "shrink", "grant", "grant", "refuse"]
STEPS += ["lose", "fence", "unfence", "unfence", "log"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_all_who_may_lead_have_what_was_shown(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        isr = rng.choice([(0,), (0, 1), (0, 1, 2)])
        steps = [(rng.choice(STEPS), rng.randrange(3), rng.randrange(5)) for _ in range(60)]
        lead_through(steps, rng.randint(1, 4), isr)


def lead_through(steps: list[tuple[str, int, int]], min_isr: int, isr: tuple[int, ...]) -> None:
    """The controller's ISR and ELR (by the words of KIP-966) against the leader's high watermark:
    P6, P8, P9 and P12."""
    world = LedPartition(isr, min_isr=min_isr)
    minimum = min(min_isr, 3)
    ends = [0, 0, 0]  # of the logs; followers only add to theirs
    elr, epoch = frozenset[int](), world.state.partition_epoch
    out: Proposal | None = None

    def commit(after: tuple[int, ...]) -> None:
        nonlocal isr, elr, epoch
        left = frozenset() if len(after) >= minimum else (elr | set(isr)) - set(after)
        isr, elr, epoch = after, left, epoch + 1

    def tell() -> None:
        world.update(isr=isr, partition_epoch=epoch)

    for what, broker, number in steps:
        shown = world.hwm
        assert world.replica.leading is not None
        known = world.replica.leading.isr.committed
        match what:
            case "append":
                world.append(number + 1)
                ends[0] += number + 1
            case "fetch" if broker:
                ends[broker] = min(ends[broker] + number, ends[0])
                out = world.fetch(broker, ends[broker]) or out
            case "wait":
                world.now += LAG // 2
            case "shrink":
                out = world.replica.shrinking(world.now) or out
            case "fence" if broker:
                world.inactive.add(broker)
                if broker in isr:
                    commit(tuple(each for each in isr if each != broker))
            case "unfence":
                world.inactive.discard(broker)
            case "log":
                tell()
            case "grant" | "refuse" | "lose" if out is not None:
                is_current = out.partition_epoch == epoch
                is_eligible = not world.inactive & set(out.brokers)
                if not is_current:
                    world.answer(out, ErrorCode.INVALID_UPDATE_VERSION)
                    out = None
                elif not is_eligible or what == "refuse":
                    world.answer(out, ErrorCode.INELIGIBLE_REPLICA)
                    out = None
                else:
                    commit(out.brokers)
                    if what == "grant":
                        world.answer(out)
                        world.state = replace(world.state, partition_epoch=epoch, isr=isr)
                    # Else the answer was lost: the leader asks again, and is told of the log.
                    out = None if what == "grant" else out
        assert world.hwm >= shown
        assert world.hwm <= ends[0]
        assert world.replica.leading is not None
        now_known = world.replica.leading.isr.committed
        if world.hwm > shown:
            assert max(len(known), len(now_known)) >= minimum
        for each in (*isr, *elr):
            assert ends[each] >= world.hwm, f"{each} lacks what was shown; ISR {isr}, ELR {elr}"
