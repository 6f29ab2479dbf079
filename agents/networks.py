"""The policy-value network: one for all seats of a game."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.losses import log_policy
from pitch_env.actions import NUM_ACTIONS


class PolicyValueNetwork(nn.Module):
    """A residual multilayer perceptron from observations, as the engine writes them, to logits and a value.

    Args:
        high: uint8 [D], the highest value of each entry of the observation; entries are divided by it.
        width: units of each hidden layer.
        depth: residual blocks of two layers each.
    """

    def __init__(self, high: np.ndarray, width: int = 256, depth: int = 1) -> None:
        super().__init__()
        scale = 1 / np.maximum(high, 1).astype(np.float32)
        self.scale: Tensor
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        self.first = nn.Linear(len(high), width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        self.policy = nn.Linear(width, NUM_ACTIONS)
        self.value = nn.Linear(width, 1)
        self._initialise()

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)
        nn.init.orthogonal_(self.policy.weight, 0.01)  # begin with an all but uniform policy
        nn.init.orthogonal_(self.value.weight, 0.1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, 71], not masked, and values [B] of observations [B, D] of any type."""
        # Scaling the weights instead of the inputs touches hundreds of rows, not thousands.
        x = functional.linear(observation.to(self.first.weight.dtype), self.first.weight * self.scale, self.first.bias)
        for block in self.blocks:
            x = x + block(x)
        x = functional.relu(self.norm(x))
        return self.policy(x), self.value(x).squeeze(-1).float()

    @torch.no_grad()
    def sample(self, observation: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Actions [B] drawn from the policy, their log-probabilities [B], and values [B]."""
        logits, value = self(observation)
        log_probability = log_policy(logits, mask)
        # The Gumbel trick: the largest of log-probabilities with Gumbel noise is a draw, in one pass.
        noise = torch.empty_like(log_probability).exponential_(generator=generator).log()
        action = (log_probability - noise).argmax(-1)
        return action, log_probability.gather(-1, action.unsqueeze(-1)).squeeze(-1), value


@torch.no_grad()
def move_average(average: nn.Module, network: nn.Module, decay: float) -> None:
    """Move the weights of an average towards those of a network of the same shape; decay 1: not at all."""
    for old, new in zip(average.parameters(), network.parameters(), strict=True):
        old.lerp_(new, 1 - decay)
