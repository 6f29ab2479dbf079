"""Supervised learning from records: what does the expert bid? python examples/bidding_model.py [DEALS]

Plays deals, writes them as records, reads them back, and fits a model to the bids that were made.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from agents import load
from agents.losses import log_policy
from pitch_env import Rules, VectorGame
from pitch_env.actions import parse_action
from pitch_env.record import Seat, append, read, replay
from pitch_env.recorder import Recorder

deals = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
rules, expert, rng = Rules.preset("auction"), load("expert"), np.random.default_rng(1)
path = Path(tempfile.mkdtemp()) / "deals.jsonl"

batch = VectorGame(rules, num_games=100, seed=1)
recorder = Recorder(batch, [Seat("expert")] * rules.players)
written = 0
while written < deals:
    records = recorder.step(expert.act(batch.observation, batch.mask, rng))
    append(path, records)
    written += len(records)

seen, masks, bids = [], [], []
for record in read(path):
    for game, action in zip(replay(record), record.actions, strict=False):
        if game.phase != "bid":
            break
        seen.append(game.observation(game.actor))
        masks.append(game.legal_mask())
        bids.append(parse_action(action))
x, mask, y = torch.tensor(np.array(seen)), torch.tensor(np.array(masks)), torch.tensor(bids)

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 71))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
train = len(x) * 4 // 5  # the last deals are kept apart
for _ in range(15):
    for rows in torch.randperm(train).split(256):
        loss = -log_policy(model(x[rows]), mask[rows]).gather(1, y[rows, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
guess = log_policy(model(x[train:]), mask[train:]).argmax(1)
right, passes = (guess == y[train:]).float().mean(), (y[train:] == parse_action("pass")).float().mean()
print(
    f"{len(x)} bids of {written} deals; of those kept apart {right:.0%} foretold, where passing always is {passes:.0%}"
)
