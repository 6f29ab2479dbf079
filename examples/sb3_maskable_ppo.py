"""MaskablePPO of sb3-contrib on Pitch-v0: python examples/sb3_maskable_ppo.py [STEPS]

pip install pitch-env[sb3]. The default takes a minute or two; the learner then beats random players clearly, and greedy
ones by a little.
"""

import sys

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor

from agents import load
from agents.evaluation import duplicate_match
from agents.sb3_vec_env import PitchVecEnv
from pitch_env import Rules

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000

env = VecMonitor(PitchVecEnv(64, "auction", ["greedy", "random", "greedy"], seat="rotate", reward="relative"))
model = MaskablePPO(
    "MlpPolicy", env, n_steps=64, batch_size=512, n_epochs=4, learning_rate=5e-4, gamma=1.0, ent_coef=0.01, seed=1,
    device="cpu", verbose=1,
)  # fmt: skip
model.learn(steps)


class Learner:
    """The model as an agent."""

    name = "sb3"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The most likely actions."""
        return model.predict(observation.astype(np.float32), action_masks=mask, deterministic=True)[0]


for opponent in ("random", "greedy"):
    match = duplicate_match(Rules.preset("auction"), Learner(), load(opponent), deals=300)
    print(f"against {opponent}: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
