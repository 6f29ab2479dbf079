"""PPO of TorchRL on Pitch-v0 (pip install pitch-env[torchrl]): python examples/torchrl_ppo.py [FRAMES]"""

import sys

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents import load
from agents.evaluation import duplicate_match
from agents.gymnasium_env import PitchEnv
from agents.logits_agent import LogitsAgent
from pitch_env import Rules

torch.manual_seed(1)
table = PitchEnv(opponents="random", reward="relative", observation="dict")
env = GymWrapper(table, categorical_action_encoding=True)
env = TransformedEnv(env, DTypeCastTransform(torch.int8, torch.bool, ["action_mask"]))
logits, value = (MLP(table.observation_space["observation"].shape[0], size, num_cells=[128]) for size in (71, 1))
module, keys = TensorDictModule(logits, ["observation"], ["logits"]), {"logits": "logits", "mask": "action_mask"}
actor = ProbabilisticActor(module, keys, distribution_class=MaskedCategorical, return_log_prob=True)
critic = ValueOperator(value, ["observation"])
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
losses = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
optimizer = torch.optim.Adam(losses.parameters(), lr=5e-4)
frames = int(sys.argv[1]) if len(sys.argv) > 1 else 73 * 2048
for batch in Collector(env, actor, frames_per_batch=2048, total_frames=frames, auto_register_policy_transforms=True):
    for _ in range(4):
        rows = advantage(batch).reshape(-1)
        for chosen in torch.randperm(len(rows)).split(256):
            loss = losses(rows[chosen])
            optimizer.zero_grad()
            (loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]).backward()
            optimizer.step()
    print(f"reward per step {batch['next', 'reward'].mean():+.3f}")
print(duplicate_match(Rules.preset("auction"), LogitsAgent("torchrl", logits), load("greedy"), deals=300))
