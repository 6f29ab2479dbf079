"""Proximal policy optimisation by self-play: one network plays all the seats and learns from every one of them.

PPO is from Schulman et al. (2017), its details from Huang et al., "The 37 implementation details" (2022). What a card
game of several players changes: rewards and advantages belong to seats (agents/returns.py), decisions without a choice
are not decisions, and an update sees many thousand of them, since most of the noise is in the cards.
"""

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from agents.evaluation import Match
from agents.losses import (
    approximate_kl,
    calibration_slope,
    clipped_policy_loss,
    divergence,
    entropy,
    explained_variance,
    log_policy,
    of_actions,
)
from agents.networks import ActionCritic, Critic, PolicyValueNetwork, Trunk, move_average
from agents.ppo_config import Config
from agents.returns import expected_sarsa, gae, rewards
from agents.rollout import Rollout, Rows
from agents.training import autocast, complete, descend
from agents.training_run import TrainingRun
from pitch_env.state import Phase

__all__ = ["Config", "Run", "train"]


class Run(TrainingRun):
    """A PPO run; see ``TrainingRun``.

    Attributes:
        reference: a moving average of the network that the policy is held to, or None.
    """

    fixed = ("critic", "advantage", *TrainingRun.fixed)
    exploring = "entropy_bids"
    config: Config
    reference: PolicyValueNetwork | None = None

    def make_networks(self, high: np.ndarray) -> dict[str, Trunk]:
        """See ``TrainingRun``."""
        config = self.config
        self.network = PolicyValueNetwork(high, config.width, config.depth)
        networks: dict[str, Trunk] = {"network": self.network}
        hands = self.batch.players if config.critic == "all" else 0
        if hands or config.advantage == "sarsa":
            kind = ActionCritic if config.advantage == "sarsa" else Critic
            self.critic = networks["critic"] = kind(high, hands, config.width, config.depth)
        if config.reference_weight:
            self.reference = networks["reference"] = copy.deepcopy(self.network).requires_grad_(False)
        return networks

    @property
    def entropy_weights(self) -> tuple[float, float]:
        """Those of bids and of cards, as far as they have fallen."""
        fade = 1 - (1 - self.config.entropy_final) * self.progress
        return self.config.entropy_bids * fade, self.config.entropy_cards * fade

    def update(self, rollout: Rollout) -> dict[str, float]:
        """See ``TrainingRun``."""
        decisions = prepare(self, rollout)
        measured = descend(self, len(decisions.action), lambda rows: losses(self, decisions[rows]))
        if self.reference is not None:
            move_average(self.reference, self.network, self.config.reference_decay)
        bids, cards = self.entropy_weights
        return measured | {
            "entropy_weight_bids": bids,
            "entropy_weight_cards": cards,
            "explained_variance": explained_variance(decisions.estimate, decisions.target),
            "value_slope": calibration_slope(decisions.estimate, decisions.target),
            "value_bias": (decisions.estimate - decisions.target).mean().item(),
        }


@dataclass
class Decisions(Rows):
    """What an update learns from, a row for each of B decisions; see ``Rollout``."""

    observation: Tensor
    hands: Tensor
    mask: Tensor
    action: Tensor
    log_probability: Tensor
    advantage: Tensor
    target: Tensor  # of the critic
    estimate: Tensor  # what the critic made of it instead
    bonus: Tensor  # the weight of the entropy


def prepare(run: Run, rollout: Rollout) -> Decisions:
    """The learner's own decisions of a rollout, with what they brought."""
    advantage, target, estimate = advantages(run, rollout)
    is_bid = rollout.phase.flatten() <= Phase.TRUMP
    decisions = Decisions(
        observation=rollout.observation.flatten(0, 1),
        hands=rollout.hands.flatten(0, 1),
        mask=rollout.mask.flatten(0, 1),
        action=rollout.action.flatten(),
        log_probability=rollout.log_probability.flatten(),
        advantage=advantage.flatten(),
        target=target.flatten(),
        estimate=estimate.flatten(),
        bonus=torch.where(is_bid, *run.entropy_weights),
    )
    return decisions if rollout.own.all() else decisions.where(rollout.own.flatten())


def advantages(run: Run, rollout: Rollout) -> tuple[Tensor, Tensor, Tensor]:
    """Advantages, the critic's targets and its estimates of them, each float32 [T, N]."""
    config = run.config
    change, value, action_value, actor, done, bootstrap = (
        getattr(rollout, name).cpu().numpy()
        for name in ("change", "value", "action_value", "actor", "done", "bootstrap")
    )
    reward = rewards(change, run.variants, config.reward == "win")
    rest = actor, done, bootstrap, config.gamma, config.lam
    written = np.empty_like(value)
    if config.advantage == "sarsa":
        expected_sarsa(reward, value, action_value, *rest, written)
        target = torch.from_numpy(written).to(rollout.value.device)
        return target - rollout.value, target, rollout.action_value
    gae(reward, value, *rest, written)
    advantage = torch.from_numpy(written).to(rollout.value.device)
    return advantage, advantage + rollout.value, rollout.value


def losses(run: Run, batch: Decisions) -> dict[str, Tensor]:
    """The loss of a minibatch, and beside it all that is worth knowing of it."""
    config = run.config
    with autocast(config):
        logits, value = run.network(batch.observation)
    log_probability = log_policy(logits, batch.mask)
    log_ratio = of_actions(log_probability, batch.action) - batch.log_probability
    gain = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std(correction=0) + 1e-8)
    spread = entropy(log_probability)
    policy_loss = clipped_policy_loss(log_ratio, gain, config.clip).mean()
    value_loss = (value - batch.target).square().mean()
    measured = {
        "loss": policy_loss + config.value_weight * value_loss - (batch.bonus * spread).mean(),
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": spread.mean(),
        "kl": approximate_kl(log_ratio.detach()),
        "clipped": (log_ratio.detach().exp() - 1).abs().gt(config.clip).float().mean(),
    }
    if run.critic is not None:
        with autocast(config):
            estimate = run.critic.assess(batch.observation, batch.hands, log_probability.detach(), batch.action)[1]
        measured["critic_loss"] = (estimate - batch.target).square().mean()
        measured["loss"] = measured["loss"] + config.value_weight * measured["critic_loss"]
    if run.reference is not None:
        with torch.no_grad(), autocast(config):
            reference = log_policy(run.reference(batch.observation)[0], batch.mask)
        measured["reference_kl"] = divergence(log_probability, reference).mean()
        measured["loss"] = measured["loss"] + config.reference_weight * measured["reference_kl"]
    return measured


def train(config: Config, resume: Path | None = None) -> list[Match]:
    """Train by PPO; see ``training.complete``."""
    return complete(Run, config, resume)
