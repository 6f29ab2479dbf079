"""The moving average of the own weights that a policy can be held to."""

from dataclasses import replace

import torch
from trainers import SMALL, assert_same, iterate, weights

from agents.networks import move_average
from agents.ppo import Run


def test_the_average_moves_as_it_is_told():
    one, other = (torch.nn.Linear(3, 2) for _ in range(2))
    expected = 0.9 * one.weight.detach() + 0.1 * other.weight.detach()
    move_average(one, other, 0.9)
    torch.testing.assert_close(one.weight.detach(), expected)
    move_average(one, other, 0.0)
    assert_same(one.state_dict(), other.state_dict())


def test_the_reference_follows_the_network_and_is_none_of_its_own():
    run = Run(replace(SMALL, reference_weight=0.1, reference_decay=0.75))
    before = weights(run)
    assert_same(run.reference.state_dict(), before)
    measured = iterate(run, 1)[0]
    assert measured["reference_kl"] >= 0
    for name, value in run.reference.named_parameters():
        torch.testing.assert_close(value, 0.75 * before[name] + 0.25 * weights(run)[name])


def test_the_weight_holds_the_policy_back():
    def drift(weight: float) -> float:
        run = Run(replace(SMALL, reference_weight=weight, reference_decay=1, learning_rate=3e-3))
        return sum(each["reference_kl"] for each in iterate(run, 6)[3:])

    assert drift(3.0) < 0.5 * drift(1e-9)


def test_without_a_weight_there_is_none():
    assert Run(SMALL).reference is None
    assert "reference_kl" not in iterate(Run(SMALL), 1)[0]
