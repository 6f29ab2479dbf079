"""Deep Monte Carlo by self-play: a network learns what actions are worth from what deals brought, and plays the best.

After DouZero (Zha et al., 2021, arXiv 2106.06135), with the roll-outs, the suits and the evaluation of the other
learners. There is no policy beside the values, and no estimate enters a target but where a roll-out cuts a game. What
differs from DouZero: one network answers for all 71 actions at once, in place of one pass for each; it plays all
seats; chance takes bids more often than cards; Adam, in place of RMSProp in many processes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.dmc_config import Config
from agents.evaluation import Match
from agents.losses import explained_variance, of_actions
from agents.networks import ActionValueNetwork, Trunk
from agents.returns import returns, rewards
from agents.rollout import Rollout, Rows
from agents.training import autocast, complete, descend
from agents.training_run import TrainingRun
from pitch_env.actions import DONE, TRUMP

__all__ = ["Config", "Run", "train"]


class Run(TrainingRun):
    """A deep Monte Carlo run; see ``TrainingRun``."""

    exploring = "epsilon_bids"
    config: Config
    network: ActionValueNetwork

    def make_networks(self, high: np.ndarray) -> dict[str, Trunk]:
        """See ``TrainingRun``."""
        self.network = ActionValueNetwork(high, self.config.width, self.config.depth)
        return {"network": self.network}

    @property
    def shape(self) -> dict[str, Any]:
        """See ``TrainingRun``."""
        return super().shape | {"kind": "action_values"}

    @property
    def actor(self) -> "EpsilonGreedy":
        """See ``TrainingRun``."""
        config = self.config
        left = 1 - (1 - config.epsilon_final) * self.progress
        return EpsilonGreedy(self.network, config.epsilon_bids * left, config.epsilon_cards * left)

    def rollout(self) -> Rollout:
        """See ``TrainingRun``; a seat that is not to act has no actions, and so no value after the last step."""
        rollout = super().rollout()
        rollout.bootstrap = rollout.bootstrap[:, :0]
        return rollout

    def update(self, rollout: Rollout) -> dict[str, float]:
        """See ``TrainingRun``."""
        decisions = prepare(self, rollout)
        measured = descend(self, len(decisions.action), lambda rows: losses(self, decisions[rows]))
        explored = (rollout.log_probability[rollout.own] < np.log(0.5)).float().mean()  # what had less than half
        explained = explained_variance(decisions.estimate, decisions.target)
        return measured | {"explored": explored.item(), "explained_variance": explained}


@dataclass
class EpsilonGreedy:
    """Takes the best action, and now and then any."""

    network: ActionValueNetwork
    bids: float  # the share that is drawn at random of bids and of namings of trump
    cards: float  # the same of all others

    @torch.no_grad()
    def sample(self, observation: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """See ``rollout.Actor``."""
        log_greedy, value = self.network.decide(observation, mask)
        number = mask.sum(-1)
        share = torch.where(mask[:, TRUMP:DONE].any(-1), self.bids, self.cards)
        chance, which = torch.rand(2, len(mask), generator=generator, device=mask.device)
        drawn = (mask.cumsum(-1) > (which * number).long().unsqueeze(-1)).int().argmax(-1)  # the first that exceeds it
        action = torch.where(chance < share, drawn, log_greedy.argmax(-1))
        spread = mask * (share / number).unsqueeze(-1)
        return action, ((1 - share).unsqueeze(-1) * log_greedy.exp() + spread).log(), value


@dataclass
class Decisions(Rows):
    """What an update learns from, a row for each of B decisions; see ``Rollout``."""

    observation: Tensor
    action: Tensor
    target: Tensor
    estimate: Tensor  # of the best action, when it was taken


def prepare(run: Run, rollout: Rollout) -> Decisions:
    """The learner's own decisions of a rollout of which it is known what they brought."""
    change, value, actor, done = (getattr(rollout, name).cpu().numpy() for name in ("change", "value", "actor", "done"))
    reward = rewards(change, run.variants, run.config.reward == "win")
    target = torch.from_numpy(returns(reward, value, actor, done)).to(rollout.value.device)
    decisions = Decisions(
        observation=rollout.observation.flatten(0, 1),
        action=rollout.action.flatten(),
        target=target.flatten(),
        estimate=rollout.value.flatten(),
    )
    return decisions.where((rollout.own & ~target.isnan()).flatten())


def losses(run: Run, batch: Decisions) -> dict[str, Tensor]:
    """The loss of a minibatch."""
    with autocast(run.config):
        value = of_actions(run.network(batch.observation), batch.action)
    return {"loss": (value - batch.target).square().mean(), "value": value.detach().mean()}


def train(config: Config, resume: Path | None = None) -> list[Match]:
    """Train by deep Monte Carlo; see ``training.complete``."""
    return complete(Run, config, resume)
