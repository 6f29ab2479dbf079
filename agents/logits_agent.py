"""``LogitsAgent``: what was trained elsewhere, such as with another library, as an agent."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class LogitsAgent:
    """Takes the legal action with the highest logit.

    Args:
        name: what it is called.
        logits: a module of torch, or any function, that gives logits or values of actions [N, 71] for observations,
            float32 [N, D]. They need not be masked.
    """

    def __init__(self, name: str, logits: Callable[[torch.Tensor], Any]) -> None:
        self.name, self.logits = name, logits

    @torch.no_grad()
    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``agents.agent.Agent``."""
        logits = self.logits(torch.from_numpy(observation).float())
        return np.where(mask, logits.cpu().numpy(), -np.inf).argmax(1)
