"""The losses against their definitions."""

import numpy as np
import pytest
import torch

from agents.losses import (
    approximate_kl,
    calibration_slope,
    clipped_policy_loss,
    divergence,
    entropy,
    explained_variance,
    log_policy,
    of_actions,
    probabilities,
)
from agents.networks import PolicyValueNetwork


def test_a_masked_policy_never_chooses_what_is_forbidden_and_sums_to_one():
    logits = torch.randn(100, 71) * 50
    mask = torch.rand(100, 71) < 0.2
    mask[:, 5] = True
    probability = log_policy(logits, mask).exp()
    assert (probability[~mask] == 0).all()
    torch.testing.assert_close(probability.sum(-1), torch.ones(100))


def test_entropy_is_that_of_the_legal_actions():
    mask = torch.zeros(1, 71, dtype=torch.bool)
    mask[0, :8] = True
    assert entropy(log_policy(torch.zeros(1, 71), mask)).item() == pytest.approx(2.0794415)  # ln 8


def test_gradients_are_those_of_torchs_own_distribution():
    mask = torch.rand(50, 71) < 0.3
    mask[:, 7] = True
    action, weight = mask.float().multinomial(1).squeeze(1), torch.randn(2, 50)
    ours, theirs = (torch.randn(50, 71, generator=torch.Generator().manual_seed(4)).requires_grad_() for _ in range(2))
    log_probability = log_policy(ours, mask)
    (weight[0] * of_actions(log_probability, action) + weight[1] * entropy(log_probability)).sum().backward()
    policy = torch.distributions.Categorical(logits=theirs.masked_fill(~mask, -1e9))
    (weight[0] * policy.log_prob(action) + weight[1] * policy.entropy()).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
    assert (ours.grad[~mask] == 0).all()


def test_the_clipped_loss_is_pessimistic():
    log_ratio = torch.tensor([0.5, 0.5, -0.5, -0.5, 0.1])
    advantage = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0])
    ratio = log_ratio.exp()
    expected = [-1.2, ratio[1].item(), -ratio[2].item(), 0.8, -2 * ratio[4].item()]
    assert clipped_policy_loss(log_ratio, advantage, 0.2).tolist() == pytest.approx(expected)


def test_clipped_ratios_have_no_gradient():
    log_ratio = torch.tensor([0.5, -0.5, 0.5, -0.5], requires_grad=True)
    clipped_policy_loss(log_ratio, torch.tensor([1.0, -1.0, -1.0, 1.0]), 0.2).sum().backward()
    assert (log_ratio.grad != 0).tolist() == [False, False, True, True]


def test_kl_is_zero_for_the_same_policy_and_positive_otherwise():
    assert approximate_kl(torch.zeros(10)).item() == 0
    old, new = torch.log_softmax(torch.randn(2, 71), -1)
    drawn = torch.distributions.Categorical(logits=old).sample((200_000,))
    exact = (old.exp() * (old - new)).sum().item()
    assert approximate_kl((new - old)[drawn]).item() == pytest.approx(exact, rel=0.05)


def test_divergence_is_that_of_torch_and_ignores_what_is_illegal():
    mask = torch.rand(50, 71) < 0.3
    mask[:, 3] = True
    one, other = (log_policy(torch.randn(50, 71), mask) for _ in range(2))
    expected = [
        torch.distributions.kl_divergence(
            torch.distributions.Categorical(logits=one[row][mask[row]]),
            torch.distributions.Categorical(logits=other[row][mask[row]]),
        )
        for row in range(50)
    ]
    torch.testing.assert_close(divergence(one, other), torch.stack(expected))
    assert (divergence(one, one) == 0).all()


def test_explained_variance():
    target = torch.randn(1000)
    assert explained_variance(target, target) == 1
    assert explained_variance(torch.zeros(1000), target) == pytest.approx(0)
    assert explained_variance(target, torch.ones(1000)) != explained_variance(target, torch.ones(1000))  # nan


def test_the_slope_tells_predictions_that_are_too_far_apart():
    target = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert calibration_slope(target, target) == pytest.approx(1)
    assert calibration_slope(2 * target + 3, target) == pytest.approx(0.5)


def test_probabilities_are_those_of_softmax():
    mask = torch.arange(71) % 5 == 0
    logits = torch.randn(8, 71, generator=torch.Generator().manual_seed(0))
    expected = torch.softmax(logits.masked_fill(~mask, -torch.inf), -1)
    torch.testing.assert_close(probabilities(log_policy(logits, mask.expand(8, -1))), expected, atol=1e-30, rtol=1e-5)


def test_what_a_network_draws_is_legal_and_as_often_as_its_policy_says():
    network = PolicyValueNetwork(np.ones(4, np.uint8), 16)
    torch.nn.init.normal_(network.policy.weight)
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(1, 71, generator=generator) < 0.1
    observation, masks = torch.ones(200_000, 4, dtype=torch.uint8), mask.expand(200_000, -1)
    drawn, log_probability, _ = network.sample(observation, masks, generator)
    share = torch.bincount(drawn, minlength=71) / len(drawn)
    assert (share[~mask[0]] == 0).all()
    torch.testing.assert_close(share, log_probability[0].exp(), atol=0.005, rtol=0)
