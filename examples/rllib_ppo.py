"""PPO of RLlib on pitch_v0, all seats by one policy: python examples/rllib_ppo.py [ITERATIONS]

pip install pitch-env[rllib]: without the gymnasium 1.2.2 that ``ray[rllib]`` would pin, and does well without.
"""

import sys

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

from agents import load
from agents.evaluation import duplicate_match
from agents.logits_agent import LogitsAgent
from agents.rllib_env import PitchMultiAgentEnv
from pitch_env import Rules

module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
algorithm = (
    PPOConfig()
    .environment(PitchMultiAgentEnv, env_config={"reward": "relative"}, disable_env_checking=True)
    .env_runners(num_env_runners=0)  # in this process
    .multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
    .rl_module(rl_module_spec=module)
    .training(train_batch_size=4096, minibatch_size=512, num_epochs=6, lr=5e-4, gamma=1.0, entropy_coeff=0.01)
    .debugging(seed=1)
    .build_algo()
)
for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4):
    print(number, "deals:", algorithm.train()["env_runners"]["num_episodes_lifetime"])


def logits(observation: torch.Tensor) -> torch.Tensor:
    """Those of the policy, without a mask."""
    batch = {"obs": {"observations": observation, "action_mask": torch.ones(len(observation), 71)}}
    return algorithm.get_module("all").forward_inference(batch)["action_dist_inputs"]


print(duplicate_match(Rules.preset("auction"), LogitsAgent("rllib", logits), load("greedy"), deals=300))
