"""``PitchMultiAgentEnv``: ``pitch_v0`` in the form in which RLlib wants it, with masks::

    PPOConfig().environment(PitchMultiAgentEnv, env_config={"rules": "auction", "reward": "relative"})

Needs ``pip install pitch-env[rllib]``.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv

from pitch_env import pitch_v0


class _ObservationsKey(pitch_v0.raw_env):
    """An observation under the key ``observations``, where RLlib's module for masked actions looks for it."""

    def observation_space(self, agent: str) -> spaces.Space:
        space = super().observation_space(agent)
        assert isinstance(space, spaces.Dict)
        return spaces.Dict({"observations": space["observation"], "action_mask": space["action_mask"]})

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        seen = super().observe(agent)
        return {"observations": seen["observation"], "action_mask": seen["action_mask"]}


class PitchMultiAgentEnv(PettingZooEnv):
    """All seats, each of which RLlib maps to a policy; ``ActionMaskingTorchRLModule`` knows what is legal.

    RLlib's own check of environments plays illegal actions, which are an error here: ``disable_env_checking=True``.

    Args:
        config: arguments of ``pitch_v0.env``.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(_ObservationsKey(**(config or {})))
