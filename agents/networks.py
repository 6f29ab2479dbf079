"""The networks: a policy with a value, one for all seats of a game, and a critic that sees all hands."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.losses import log_policy
from pitch_env.actions import NUM_ACTIONS
from pitch_env.cards import NUM_CARDS


class Trunk(nn.Module):
    """A residual multilayer perceptron from bytes to features, for networks with heads of their own.

    Args:
        high: uint8 [D], the highest value of each entry of the input; entries are divided by it.
        width: units of each hidden layer.
        depth: residual blocks of two layers each.
    """

    def __init__(self, high: np.ndarray, width: int, depth: int) -> None:
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

    def initialise(self) -> None:
        """Orthogonal weights, no biases: for the end of a subclass's ``__init__``."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)

    def features(self, entries: Tensor) -> Tensor:
        """Features [B, width] of inputs [B, D] of any type."""
        # Scaling the weights instead of the inputs touches hundreds of rows, not thousands.
        x = functional.linear(entries.to(self.first.weight.dtype), self.first.weight * self.scale, self.first.bias)
        for block in self.blocks:
            x = x + block(x)
        return functional.relu(self.norm(x))


class PolicyValueNetwork(Trunk):
    """From observations, as the engine writes them, to logits and a value; see ``Trunk``."""

    def __init__(self, high: np.ndarray, width: int = 256, depth: int = 1) -> None:
        super().__init__(high, width, depth)
        self.policy = nn.Linear(width, NUM_ACTIONS)
        self.value = nn.Linear(width, 1)
        self.initialise()
        nn.init.orthogonal_(self.policy.weight, 0.01)  # begin with an all but uniform policy
        nn.init.orthogonal_(self.value.weight, 0.1)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, 71], not masked, and values [B] of observations [B, D] of any type."""
        x = self.features(observation)
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


class OpenCritic(Trunk):
    """From what an actor sees and the hands of all seats to a value: for training only, since no player sees them.

    Args:
        high: as for ``Trunk``, of the observation alone.
        players: seats of a game.
        width, depth: as for ``Trunk``.
    """

    def __init__(self, high: np.ndarray, players: int, width: int = 256, depth: int = 1) -> None:
        super().__init__(np.concatenate([high, np.ones(players * NUM_CARDS, np.uint8)]), width, depth)
        self.value = nn.Linear(width, 1)
        self.initialise()
        nn.init.orthogonal_(self.value.weight, 0.1)

    def forward(self, observation: Tensor, hands: Tensor) -> Tensor:
        """Values [B] for observations [B, D] and hands [B, players * 54], by seats counted from the actor."""
        return self.value(self.features(torch.cat([observation, hands], -1))).squeeze(-1).float()


@torch.no_grad()
def move_average(average: nn.Module, network: nn.Module, decay: float) -> None:
    """Move the weights of an average towards those of a network of the same shape; decay 1: not at all."""
    for old, new in zip(average.parameters(), network.parameters(), strict=True):
        old.lerp_(new, 1 - decay)
