"""PPO of RLlib on the PettingZoo environment, all seats by one policy: python examples/rllib_ppo.py [ITERATIONS]

pip install pitch-env[rllib]. That is Ray and what RLlib imports: ``ray[rllib]`` itself asks for exactly gymnasium 1.2.2
(Ray 2.54 to 2.60), which is older than the version that this project is tested with, but it works with that.
"""

import sys

import numpy as np
import torch
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env

from agents import load
from agents.evaluation import duplicate_match
from pitch_env import Rules, pitch_v0

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 4


class WithObservations(BaseWrapper):
    """The key ``observations``, as RLlib's masking module wants it."""

    def observation_space(self, agent: str) -> spaces.Space:
        """See pitch_v0."""
        space = super().observation_space(agent)
        return spaces.Dict({"observations": space["observation"], "action_mask": space["action_mask"]})

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """See pitch_v0."""
        seen = super().observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}


register_env("pitch", lambda _: PettingZooEnv(WithObservations(pitch_v0.env("auction", reward="relative"))))
module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
config = (
    PPOConfig()
    .environment("pitch", disable_env_checking=True)  # the check plays actions that are not legal
    .env_runners(num_env_runners=0)  # in this process
    .multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
    .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"all": module}))
    .training(train_batch_size=4096, minibatch_size=512, num_epochs=6, lr=5e-4, gamma=1.0, entropy_coeff=0.01)
    .debugging(seed=1)
)
algorithm = config.build_algo()
for number in range(iterations):
    result = algorithm.train()
    print(number, "deals:", result["env_runners"]["num_episodes_lifetime"])


class Learner:
    """The policy as an agent."""

    name = "rllib"

    @torch.no_grad()
    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The most likely actions."""
        seen = {"observations": torch.from_numpy(observation).float(), "action_mask": torch.from_numpy(mask).float()}
        return (
            algorithm.get_module("all")
            .forward_inference({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
            .argmax(1)
            .numpy()
        )


match = duplicate_match(Rules.preset("auction"), Learner(), load("random"), deals=300)
print(f"against random: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
algorithm.stop()
