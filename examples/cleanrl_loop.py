"""A learner in one file on VectorGame, in the style of CleanRL: python examples/cleanrl_loop.py [ROUNDS]

All seats play by one network. The return of a decision is what its seat gets for the deal, relative to the others.
"""

import sys

import numpy as np
import torch
from torch import nn

from agents import load
from agents.evaluation import duplicate_match
from agents.returns import relative
from pitch_env import Rules, VectorGame

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
rules = Rules.preset("auction")
batch = VectorGame(rules, num_games=512, seed=1, deals=1)
torch.manual_seed(1)
network = nn.Sequential(nn.Linear(batch.observation_size, 128), nn.ReLU(), nn.Linear(128, 71 + 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)


def policy(observation: np.ndarray, mask: np.ndarray) -> tuple[torch.distributions.Categorical, torch.Tensor]:
    """The distribution of actions and the values for observations [N, D] and masks [N, 71]."""
    out = network(torch.from_numpy(observation).float())
    logits = out[:, :71].masked_fill(~torch.from_numpy(mask), -1e9)
    return torch.distributions.Categorical(logits=logits), out[:, 71]


class Learner:
    """The network as an agent."""

    name = "learner"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The most likely actions."""
        with torch.no_grad():
            return policy(observation, mask)[0].logits.argmax(1).numpy()


for _ in range(rounds):
    steps = []
    for _ in range(56):  # two deals and more
        seen, mask, actor = batch.observation.copy(), batch.mask.copy(), batch.actor.copy()
        with torch.no_grad():
            action = policy(seen, mask)[0].sample()
        change, done = batch.step(action.numpy())
        steps.append((seen, mask, actor, action, relative(change, rules), done.copy()))
    to_come, known, rows = np.zeros((len(batch), rules.players)), np.zeros(len(batch), bool), []
    for seen, mask, actor, action, points, done in reversed(steps):
        to_come = np.where(done[:, None], 0, to_come) + points
        known |= done  # before the end of a deal that was seen, so its outcome is known
        rows.append((seen[known], mask[known], action.numpy()[known], to_come[np.arange(len(batch)), actor][known]))
    seen, mask, action, gain = (np.concatenate(each) for each in zip(*rows, strict=True))
    for chosen in np.array_split(np.random.default_rng(1).permutation(len(seen)), 8):
        distribution, value = policy(seen[chosen], mask[chosen])
        target = torch.from_numpy(gain[chosen]).float()
        better = target - value.detach()
        loss = -(distribution.log_prob(torch.from_numpy(action[chosen])) * better).mean()
        loss = loss + 0.5 * (target - value).square().mean() - 0.01 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

for opponent in ("random", "greedy"):
    match = duplicate_match(rules, Learner(), load(opponent), deals=300)
    print(f"against {opponent}: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
