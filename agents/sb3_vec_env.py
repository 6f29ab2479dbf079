"""``PitchVecEnv``: many tables of ``Pitch-v0`` in the form in which Stable-Baselines3 wants them.

Stable-Baselines3 can make a vector of single environments itself, at which agents act one at a time. Here they act in
batches, in one ``PitchVectorEnv``, which collects experience several times as fast::

    env = VecMonitor(PitchVecEnv(64, "auction", "expert"))
    model = MaskablePPO("MlpPolicy", env)

Needs ``pip install pitch-env[sb3]``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from agents.gymnasium_vector import PitchVectorEnv


class PitchVecEnv(VecEnv):
    """Many tables, each with one learner's seat.

    Args:
        num_envs: how many.
        *arguments, **keywords: those of ``PitchVectorEnv``.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    def __init__(self, num_envs: int, *arguments: Any, **keywords: Any) -> None:
        self.tables = PitchVectorEnv(num_envs, *arguments, **keywords)
        super().__init__(num_envs, self.tables.single_observation_space, self.tables.single_action_space)

    def reset(self) -> Any:
        """Begin all tables anew, with the seed that ``seed`` has set."""
        seen, _ = self.tables.reset(seed=self._seeds[0] if None in self._seeds else self._seeds)
        self._reset_seeds()
        return seen

    def step_async(self, actions: np.ndarray) -> None:
        """Take note of the actions, integers [N]."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Act; see ``PitchVectorEnv.step``."""
        seen, reward, terminated, truncated, info = self.tables.step(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": bool(cut)} for cut in truncated]
        for row in np.flatnonzero(terminated | truncated):
            infos[row]["terminal_observation"] = info["final_obs"][row]
        return seen, reward.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        """Nothing to release."""

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each table, with ``render_mode="rgb_array"``."""
        return self.tables.render() or ()

    # What is asked of single tables: they share all but their masks.

    def has_attr(self, attr_name: str) -> bool:
        """Whether the tables have an attribute."""
        return hasattr(self.tables, attr_name)

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of the tables, for each of them."""
        return [getattr(self.tables, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Refused: the tables have no attributes of their own."""
        raise NotImplementedError(f"{attr_name} cannot be set; make new tables")

    def env_method(
        self, method_name: str, *method_args: Any, indices: int | Iterable[int] | None = None, **method_kwargs: Any
    ) -> list[Any]:
        """What a method gives for each table; there is ``action_masks``."""
        if method_name != "action_masks":
            raise NotImplementedError(f"no method {method_name!r} of single tables; there is 'action_masks'")
        return list(self.tables.action_masks()[self._rows(indices)])

    def env_is_wrapped(self, wrapper_class: Any, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Nothing is wrapped around single tables."""
        return [False] * len(self._rows(indices))

    def _rows(self, indices: int | Iterable[int] | None) -> list[int]:
        return list(self._get_indices(indices))
