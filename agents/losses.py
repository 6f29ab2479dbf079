"""The losses of policy-gradient learners. Pure functions on tensors; B is a minibatch."""

import torch
from torch import Tensor


def log_policy(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities [B, A] of a policy that never chooses what ``mask`` (bool [B, A]) forbids."""
    forbidden = (mask.float() - 1) * 1e9  # added, for then the gradient passes as it is, and is 0 there by itself
    return torch.log_softmax(logits.float() + forbidden, dim=-1)


def of_actions(entries: Tensor, action: Tensor) -> Tensor:
    """The entries [B] that belong to actions (int64 [B]) among those of all actions [B, A]."""
    return entries.gather(-1, action.unsqueeze(-1)).squeeze(-1)


def probabilities(log_probability: Tensor) -> Tensor:
    """Probabilities [B, A] of log-probabilities, by ``softmax``, since ``exp`` is slow where it underflows."""
    return torch.softmax(log_probability, dim=-1)


def entropy(log_probability: Tensor) -> Tensor:
    """The entropy [B] of log-probabilities [B, A], in nats."""
    # The rest of the derivative is -p, which is nothing to a softmax: it moves all probabilities alike.
    return -(probabilities(log_probability) * log_probability.detach()).sum(-1)


def clipped_policy_loss(log_ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """PPO's pessimistic surrogate (Schulman et al., 2017), as a loss [B]."""
    ratio = log_ratio.exp()
    return torch.maximum(-advantage * ratio, -advantage * ratio.clamp(1 - clip, 1 + clip))


def approximate_kl(log_ratio: Tensor) -> Tensor:
    """An unbiased estimate of KL(old, new) with little variance, as a mean (Schulman, 2020)."""
    return (log_ratio.exp() - 1 - log_ratio).mean()


def divergence(log_probability: Tensor, reference: Tensor) -> Tensor:
    """KL(policy, reference) [B] of log-probabilities [B, A] under the same mask.

    The proximal term of magnetic mirror descent (Sokota et al., 2023), which keeps self-play from running in circles.
    """
    return (probabilities(log_probability) * (log_probability - reference)).sum(-1)


def explained_variance(predicted: Tensor, target: Tensor) -> float:
    """The share of the target's variance that the prediction explains: 1 perfect, 0 as good as the mean."""
    variance = target.var(correction=0) if len(target) else 0
    return float("nan") if variance == 0 else float(1 - (target - predicted).var(correction=0) / variance)


def calibration_slope(predicted: Tensor, target: Tensor) -> float:
    """By how much the target rises on average where the prediction rises by 1: it is 1 where that can be believed."""
    spread = predicted - predicted.mean()
    return float((spread * target).mean() / spread.square().mean())
