"""The losses against their definitions."""

import pytest
import torch

from agents.losses import approximate_kl, clipped_policy_loss, divergence, entropy, explained_variance, log_policy


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
