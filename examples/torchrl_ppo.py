"""PPO of TorchRL on Pitch-v0: python examples/torchrl_ppo.py [FRAMES]

pip install pitch-env[torchrl]. TorchRL wraps the environment by itself; the mask goes into the distribution of actions.
"""

import sys

import gymnasium
import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents import load
from agents.evaluation import duplicate_match
from pitch_env import Rules

frames = int(sys.argv[1]) if len(sys.argv) > 1 else 150_000
torch.manual_seed(1)
table = gymnasium.make("agents.gymnasium_env:Pitch-v0", opponents="random", reward="relative", observation="dict")
width = table.observation_space["observation"].shape[0]
env = TransformedEnv(
    GymWrapper(table, categorical_action_encoding=True), DTypeCastTransform(torch.int8, torch.bool, ["action_mask"])
)
env.set_seed(1)


def network(outputs: int) -> torch.nn.Module:
    """A small one, of observations [N, D]."""
    return torch.nn.Sequential(torch.nn.Linear(width, 128), torch.nn.Tanh(), torch.nn.Linear(128, outputs))


actor = ProbabilisticActor(
    TensorDictModule(network(71), ["observation"], ["logits"]), {"logits": "logits", "mask": "action_mask"},
    distribution_class=MaskedCategorical, return_log_prob=True,
)  # fmt: skip
critic = ValueOperator(network(1), ["observation"])
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
losses = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
optimizer = torch.optim.Adam(losses.parameters(), lr=5e-4)
collector = Collector(env, actor, frames_per_batch=2048, total_frames=frames, auto_register_policy_transforms=True)
for batch in collector:
    for _ in range(4):
        advantage(batch)
        rows = batch.reshape(-1)
        for chosen in torch.randperm(len(rows)).split(256):
            loss = losses(rows[chosen])
            optimizer.zero_grad()
            sum(value for name, value in loss.items() if name.startswith("loss_")).backward()
            optimizer.step()
    print(f"reward per step {batch['next', 'reward'].mean():+.3f}")


class Learner:
    """The policy as an agent."""

    name = "torchrl"

    @torch.no_grad()
    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The most likely actions."""
        logits = actor.get_submodule("module")[0](torch.from_numpy(observation).float())
        return logits.masked_fill(~torch.from_numpy(mask), -1e9).argmax(1).numpy()


match = duplicate_match(Rules.preset("auction"), Learner(), load("random"), deals=300)
print(f"against random: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
