"""DQN of Tianshou on Pitch-v0: python examples/tianshou_dqn.py [EPOCHS]

pip install pitch-env[tianshou]. Tianshou finds masks by itself, where an observation has the keys ``obs`` and ``mask``.
"""

import sys

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from agents import load
from agents.evaluation import duplicate_match
from pitch_env import Rules

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
tables = 16


def table() -> gymnasium.Env:
    """One table, with the keys that Tianshou wants."""
    env = gymnasium.make("agents.gymnasium_env:Pitch-v0", opponents="random", reward="relative", observation="dict")
    space = spaces.Dict({"obs": env.observation_space["observation"], "mask": env.observation_space["action_mask"]})
    return TransformObservation(env, lambda seen: {"obs": seen["observation"], "mask": seen["action_mask"]}, space)


torch.manual_seed(1)
np.random.seed(1)  # the chance of exploration
envs = DummyVectorEnv([table] * tables)
envs.seed(1)
space = table().observation_space["obs"]
network = Net(state_shape=space.shape, action_shape=71, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=network, action_space=spaces.Discrete(71), eps_training=0.1)
learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=5e-4), gamma=1.0, target_update_freq=300)
collector = Collector(learner, envs, VectorReplayBuffer(50_000, tables), exploration_noise=True)
collector.reset()
collector.collect(n_step=2000, random=False)
result = learner.run_training(
    OffPolicyTrainerParams(
        training_collector=collector, max_epochs=epochs, epoch_num_steps=2000, collection_step_num_env_steps=160,
        update_step_num_gradient_steps_per_sample=0.1, batch_size=256, test_in_training=False, show_progress=False,
    )
)  # fmt: skip
print(result.timing)


class Learner:
    """The network as an agent."""

    name = "tianshou"

    @torch.no_grad()
    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The actions that promise most."""
        return network(observation.astype(np.float32))[0].masked_fill(~torch.from_numpy(mask), -1e9).argmax(1).numpy()


match = duplicate_match(Rules.preset("auction"), Learner(), load("random"), deals=300)
print(f"against random: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
