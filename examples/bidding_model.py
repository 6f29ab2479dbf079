"""Supervised learning from records: what does the expert bid? python examples/bidding_model.py [DEALS]"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from agents import load
from agents.evaluation import play_tables
from agents.losses import log_policy
from pitch_env import Rules
from pitch_env.actions import PASS, parse_action
from pitch_env.record import read, replay, write

deals = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
rules, rng, records = Rules.preset("auction"), np.random.default_rng(1), []
one_agent = np.zeros((deals, rules.teams), int)  # has all seats of each table
play_tables(rules, [load("expert")], one_agent, np.arange(deals, dtype=np.uint64), rng, records=records)
path = Path(tempfile.mkdtemp()) / "deals.jsonl"
write(path, records)

bids = []
for record in read(path):
    for game, action in zip(replay(record), record.actions, strict=False):  # the game before each action
        if game.phase == "bid":
            bids.append((game.observation(game.actor), game.legal_mask(), parse_action(action)))
seen, mask, chosen = (torch.tensor(np.array(each)) for each in zip(*bids, strict=True))
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(seen.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 71))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
train, test = torch.arange(len(bids)).tensor_split([len(bids) * 4 // 5])  # the last deals are kept apart
for rows in (rows for _ in range(15) for rows in torch.randperm(len(train)).split(256)):
    loss = -log_policy(model(seen[rows].float()), mask[rows]).gather(1, chosen[rows, None]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
right = (log_policy(model(seen[test].float()), mask[test]).argmax(1) == chosen[test]).float().mean()
print(f"{right:.0%} of {len(test)} bids foretold, where passing always is {(chosen[test] == PASS).float().mean():.0%}")
