"""PPO on Pitch-v0 through PufferLib's emulation: python examples/pufferlib_ppo.py [ROUNDS]

pip install --no-deps pufferlib==1.0.1 gym==0.26.2 gym_notices psutil: with dependencies it wants an older gymnasium.
"""

import sys

import pufferlib.vector
import torch
from pufferlib.emulation import GymnasiumPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor

from agents import load
from agents.evaluation import duplicate_match
from agents.gymnasium_env import PitchEnv
from agents.logits_agent import LogitsAgent
from agents.losses import clipped_policy_loss, log_policy
from pitch_env import Rules

table = {"env_creator": lambda: PitchEnv(opponents="random", reward="relative", observation="dict")}
envs = pufferlib.vector.make(GymnasiumPufferEnv, env_kwargs=table, num_envs=64)
parts = nativize_dtype(envs.driver_env.emulated)
network = torch.nn.Sequential(torch.nn.Linear(*parts["observation"][1], 128), torch.nn.ReLU(), torch.nn.Linear(128, 71))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
observation, _ = envs.reset(seed=1)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 40):
    steps, decisions, gain = [], [], torch.full([64], torch.nan)
    for _ in range(64):
        seen, mask = (nativize_tensor(torch.tensor(observation), parts)[key] for key in ("observation", "action_mask"))
        old = log_policy(network(seen).detach(), mask.bool())
        action = old.exp().multinomial(1)
        observation, reward, done, *_ = envs.step(action[:, 0].numpy())
        steps.append((seen, mask.bool(), action, old.gather(1, action), torch.tensor(reward), torch.tensor(done)))
    for *decision, reward, done in reversed(steps):
        gain = torch.where(done, reward, gain)  # what the deal brought, where its end was seen
        known = decision[1].any(1) & ~gain.isnan()  # after the end of a deal nothing is legal: the next one begins
        decisions.append([part[known] for part in (*decision, gain)])
    seen, mask, action, old, gain = (torch.cat(each) for each in zip(*decisions, strict=True))
    for rows in (rows for _ in range(4) for rows in torch.randperm(len(seen)).split(512)):
        log_ratio = log_policy(network(seen[rows]), mask[rows]).gather(1, action[rows]) - old[rows]
        optimizer.zero_grad()
        clipped_policy_loss(log_ratio, (gain[rows, None] - gain.mean()) / gain.std(), clip=0.2).mean().backward()
        optimizer.step()
print(duplicate_match(Rules.preset("auction"), LogitsAgent("pufferlib", network), load("greedy"), deals=300))
