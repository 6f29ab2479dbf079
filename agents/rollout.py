"""Playing a batch of games with a policy, and keeping what a learner needs of it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from agents.networks import PolicyValueNetwork
from agents.suits import SuitSorter
from pitch_env import VectorGame
from pitch_env.actions import MOON_CALL, NUM_ACTIONS, PASS
from pitch_env.state import NOBODY


@dataclass
class Rollout:
    """T decisions of each of N games, in buffers that are used again and again."""

    observation: Tensor  # uint8 [T, N, D], the suits sorted, as are those of masks and actions
    mask: Tensor  # bool [T, N, 71]
    action: Tensor  # int64 [T, N]
    log_probability: Tensor  # float32 [T, N], of the action when it was chosen
    value: Tensor  # float32 [T, N], the critic's estimate for the actor
    actor: Tensor  # int8 [T, N]
    phase: Tensor  # int8 [T, N]
    change: Tensor  # float32 [T, N, players], what the step added to the score of each seat's team
    done: Tensor  # bool [T, N]
    bootstrap: Tensor  # float32 [N, players], the critic's estimate for each seat after the last step

    @classmethod
    def like(cls, batch: VectorGame, steps: int) -> "Rollout":
        """Buffers for ``steps`` decisions of each game of a batch."""
        games, players = batch.num_games, batch.players
        return cls(
            observation=torch.zeros(steps, games, batch.observation_size, dtype=torch.uint8),
            mask=torch.zeros(steps, games, NUM_ACTIONS, dtype=torch.bool),
            action=torch.zeros(steps, games, dtype=torch.int64),
            log_probability=torch.zeros(steps, games),
            value=torch.zeros(steps, games),
            actor=torch.zeros(steps, games, dtype=torch.int8),
            phase=torch.zeros(steps, games, dtype=torch.int8),
            change=torch.zeros(steps, games, players),
            done=torch.zeros(steps, games, dtype=torch.bool),
            bootstrap=torch.zeros(games, players),
        )


class DealCounts:
    """How the deals went: bids, how many of them were made, how often who could pass did."""

    def __init__(self) -> None:
        self.bids = np.zeros(MOON_CALL + 1, np.int64)  # by call, 0: thrown in
        self.made = np.zeros(MOON_CALL + 1, np.int64)
        self.calls = np.zeros(2, np.int64)  # calls where passing was a choice: others, passes

    @property
    def pass_rate(self) -> float:
        """The share of passes among the calls where passing was a choice; 0 where there were none."""
        return float(self.calls[1] / max(1, self.calls.sum()))

    def clear(self) -> None:
        """Begin to count anew."""
        self.bids[:], self.made[:], self.calls[:] = 0, 0, 0

    def add_deals(self, batch: VectorGame) -> None:
        """Count the deals that the batch's last step ended."""
        over = batch.last[batch.ended]
        self.bids += np.bincount(over["bid"], minlength=len(self.bids))
        self.made += np.bincount(
            over["bid"][(over["pitcher"] != NOBODY) & (over["made"] == 1)], minlength=len(self.made)
        )

    def add_calls(self, mask: np.ndarray, action: np.ndarray) -> None:
        """Count passes among actions [N] that were chosen under masks [N, 71], none of them forced."""
        self.calls += np.bincount(action[mask[:, PASS]] == PASS, minlength=2)


def collect(
    batch: VectorGame,
    sorter: SuitSorter,
    network: PolicyValueNetwork,
    rollout: Rollout,
    generator: torch.Generator,
    counts: DealCounts,
) -> None:
    """Fill a rollout: every seat of every game plays by the network, which sees and acts with sorted suits."""
    for t in range(len(rollout.action)):
        observation, mask, order = sorter.sort(batch.observation, batch.mask)
        rollout.observation[t] = torch.from_numpy(observation)
        rollout.mask[t] = torch.from_numpy(mask)
        rollout.actor[t] = torch.from_numpy(batch.actor)
        rollout.phase[t] = torch.from_numpy(batch.phase)
        chosen = network.sample(rollout.observation[t], rollout.mask[t], generator)
        rollout.action[t], rollout.log_probability[t], rollout.value[t] = chosen
        action = rollout.action[t].numpy()
        counts.add_calls(mask, action)
        batch.step(sorter.actions(action, order))
        rollout.change[t] = torch.from_numpy(batch.reward)
        rollout.done[t] = torch.from_numpy(batch.done)
        counts.add_deals(batch)
    for seat in range(batch.players):
        with torch.no_grad():
            observation, _, _ = sorter.sort(batch.observe(seat), batch.mask)
            rollout.bootstrap[:, seat] = network(torch.from_numpy(observation))[1]
