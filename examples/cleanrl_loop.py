"""A learner in one file on VectorGame, in the style of CleanRL: python examples/cleanrl_loop.py [ROUNDS]"""

import sys

import numpy as np
import torch

from agents import load
from agents.evaluation import duplicate_match
from agents.logits_agent import LogitsAgent
from agents.losses import entropy, log_policy
from agents.returns import relative
from pitch_env import Rules, VectorGame

torch.manual_seed(1)
rules = Rules.preset("auction")
batch = VectorGame(rules, num_games=1024, deals=1)
network = torch.nn.Sequential(torch.nn.Linear(batch.observation_size, 128), torch.nn.ReLU(), torch.nn.Linear(128, 72))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
    batch.reset(number * len(batch))  # game i has the seed of the first and i more
    steps, points, playing = [], np.zeros((len(batch), rules.players), np.float32), np.ones(len(batch), bool)
    while playing.any():  # all seats by one network, until each game has ended once
        seen, mask = torch.from_numpy(batch.observation).float(), torch.from_numpy(batch.mask)
        action = log_policy(network(seen).detach()[:, :71], mask).exp().multinomial(1)
        steps.append((seen[playing], mask[playing], action[playing], np.flatnonzero(playing), batch.actor[playing]))
        change, done = batch.step(action[:, 0].numpy())
        points[playing & done] = relative(change, rules)[playing & done]
        playing &= ~done
    gain = torch.from_numpy(np.concatenate([points[game, actor] for *_, game, actor in steps]))  # of each decision
    seen, mask, action = (torch.cat(each) for each in list(zip(*steps, strict=True))[:3])
    for rows in torch.randperm(len(seen)).tensor_split(8):
        logits, value = network(seen[rows]).tensor_split([71], dim=1)
        chosen, error = log_policy(logits, mask[rows]), gain[rows, None] - value
        loss = -(chosen.gather(1, action[rows]) * error.detach()).mean() + 0.5 * error.square().mean()
        optimizer.zero_grad()
        (loss - 0.01 * entropy(chosen).mean()).backward()
        optimizer.step()
for opponent in ("random", "greedy"):
    print(duplicate_match(rules, LogitsAgent("learner", lambda seen: network(seen)[:, :71]), load(opponent), deals=300))
