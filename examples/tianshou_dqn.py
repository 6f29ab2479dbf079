"""DQN of Tianshou on Pitch-v0 (pip install pitch-env[tianshou]): python examples/tianshou_dqn.py [EPOCHS]"""

import sys

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
from agents.gymnasium_env import PitchEnv
from agents.logits_agent import LogitsAgent
from pitch_env import Rules


def table() -> TransformObservation:
    """One table, with the keys that let Tianshou find masks by itself."""
    env = PitchEnv(opponents="random", reward="relative", observation="dict")
    space = spaces.Dict({"obs": env.observation_space["observation"], "mask": env.observation_space["action_mask"]})
    return TransformObservation(env, lambda seen: {"obs": seen["observation"], "mask": seen["action_mask"]}, space)


network = Net(state_shape=table().observation_space["obs"].shape, action_shape=71, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=network, action_space=spaces.Discrete(71), eps_training=0.1)
learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=5e-4), gamma=1.0, target_update_freq=300)
collector = Collector(learner, DummyVectorEnv([table] * 16), VectorReplayBuffer(50_000, 16), exploration_noise=True)
plan = OffPolicyTrainerParams(
    training_collector=collector, max_epochs=int(sys.argv[1]) if len(sys.argv) > 1 else 15, epoch_num_steps=2000,
    collection_step_num_env_steps=160, update_step_num_gradient_steps_per_sample=0.1, batch_size=256,
    test_in_training=False, show_progress=False,
)  # fmt: skip
print(learner.run_training(plan).timing)
agent = LogitsAgent("tianshou", lambda seen: network(seen.numpy())[0])
print(duplicate_match(Rules.preset("auction"), agent, load("greedy"), deals=300))
