"""The networks: a policy with a value, or values of actions, for all seats; critics that may see all hands."""

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.losses import log_policy, of_actions, probabilities
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
        weight, device = self.first.weight * self.scale, self.first.weight.device.type
        # Under autocast bytes become bfloat16 at once, not by way of float32; either holds them exactly.
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        x = functional.linear(entries.to(dtype), weight, self.first.bias)
        for block in self.blocks:
            x = x + block(x)
        return functional.relu(self.norm(x))


class PlayingNetwork(Trunk, ABC):
    """A network that plays: what an agent needs of it, whichever learner made it; see ``Trunk``.

    Attributes:
        stochastic: whether its policy gives several actions a chance.
    """

    stochastic = True

    @abstractmethod
    def decide(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What it would do, and what it expects.

        Args:
            observation: [B, D] of any type.
            mask: bool [B, 71], the legal actions.

        Returns:
            Log-probabilities [B, 71] of its policy, and values [B].
        """


class PolicyValueNetwork(PlayingNetwork):
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

    def decide(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """See ``PlayingNetwork``."""
        logits, value = self(observation)
        return log_policy(logits, mask), value

    @torch.no_grad()
    def sample(self, observation: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Actions [B] drawn from the policy, the log-probabilities [B, 71] of all actions, and values [B]."""
        log_probability, value = self.decide(observation, mask)
        # One random number a row, which falls between two sums of probabilities; float64 keeps it below the last one.
        sums = probabilities(log_probability).double().cumsum(-1)
        drawn = torch.rand(len(mask), 1, generator=generator, dtype=torch.float64, device=mask.device) * sums[:, -1:]
        return torch.searchsorted(sums, drawn, right=True).squeeze(-1), log_probability, value


class ActionValueNetwork(PlayingNetwork):
    """From observations to what each action is worth; see ``Trunk``.

    Its policy is greedy: the best legal action, by itself; and a state is worth what that action is.
    """

    stochastic = False

    def __init__(self, high: np.ndarray, width: int = 256, depth: int = 1) -> None:
        super().__init__(high, width, depth)
        self.values = nn.Linear(width, NUM_ACTIONS)
        self.initialise()
        nn.init.orthogonal_(self.values.weight, 0.01)  # begin without a preference

    def forward(self, observation: Tensor) -> Tensor:
        """Values [B, 71] of all actions, also of illegal ones, for observations [B, D] of any type."""
        return self.values(self.features(observation)).float()

    def decide(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """See ``PlayingNetwork``."""
        value, best = self(observation).masked_fill(~mask, -1e9).max(-1, keepdim=True)
        chosen = torch.arange(NUM_ACTIONS, device=best.device) == best
        return log_policy(torch.zeros_like(chosen, dtype=torch.float32), chosen), value.squeeze(-1)


class Critic(Trunk):
    """From what an actor sees, and the hands of all seats or none, to a value: for training, as no player sees those.

    Args:
        high: as for ``Trunk``, of the observation alone.
        hands: the seats whose hands it sees beside the observation, 0 or all the players.
        width, depth: as for ``Trunk``.
    """

    def __init__(self, high: np.ndarray, hands: int, width: int = 256, depth: int = 1) -> None:
        super().__init__(np.concatenate([high, np.ones(hands * NUM_CARDS, np.uint8)]), width, depth)
        self.hands = hands
        self.value = nn.Linear(width, 1)
        self.initialise()
        nn.init.orthogonal_(self.value.weight, 0.1)

    def forward(self, observation: Tensor, hands: Tensor) -> Tensor:
        """Values [B] for observations [B, D] and hands [B, hands * 54], by seats counted from the actor."""
        return self.value(self.features(torch.cat([observation, hands], -1))).squeeze(-1).float()

    def assess(
        self, observation: Tensor, hands: Tensor, log_probability: Tensor, action: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The values [B] of decisions and those [B] of the actions taken, which to this critic are the same.

        Args:
            observation, hands: as for ``forward``.
            log_probability: float32 [B, 71], the policy.
            action: int64 [B], what was taken.
        """
        value = self(observation, hands)
        return value, value


class ActionCritic(Critic):
    """A critic that knows what each action is worth.

    In two streams, as duelling networks have them (Wang et al., 2016): V(s), and what each action is worth beyond it,
    less the policy's mean of that. So V(s) is exactly the policy's mean of Q(s, .), it learns from every action, and
    a seat has a value also when it is not its turn. See ``Critic``.
    """

    def __init__(self, high: np.ndarray, hands: int, width: int = 256, depth: int = 1) -> None:
        super().__init__(high, hands, width, depth)
        self.beyond = nn.Linear(width, NUM_ACTIONS)
        nn.init.orthogonal_(self.beyond.weight, 0.01)
        nn.init.zeros_(self.beyond.bias)

    def assess(
        self, observation: Tensor, hands: Tensor, log_probability: Tensor, action: Tensor
    ) -> tuple[Tensor, Tensor]:
        """V(s) [B], and Q(s, a) [B] of the actions taken; see ``Critic``."""
        x = self.features(torch.cat([observation, hands], -1))
        value, beyond = self.value(x).squeeze(-1).float(), self.beyond(x).float()
        beyond = beyond - (probabilities(log_probability) * beyond).sum(-1, keepdim=True)
        return value, value + of_actions(beyond, action)


@torch.no_grad()
def take_weights(network: Trunk, other: Trunk) -> None:
    """Take the weights of another network of the same kind: it computes the same then.

    The other may have been made for other highest values, as those of scores are in single deals and in whole games.
    And it may have fewer blocks. Those that it lacks end in zeros, so that they add nothing until they learn to (as
    residual blocks begin in Goyal et al., 2017, section 5.1, and deeper networks in Net2Net, Chen et al., 2016).

    Raises:
        RuntimeError: the shapes differ in another way.
    """
    mine, weights = network.state_dict(), other.state_dict()
    lacking = {name: value for name, value in mine.items() if name.startswith("blocks.") and name not in weights}
    for number, block in enumerate(network.blocks):
        ends = f"blocks.{number}.{len(list(block.children())) - 1}."
        lacking |= {name: torch.zeros_like(value) for name, value in lacking.items() if name.startswith(ends)}
    network.load_state_dict(lacking | weights)
    network.first.weight *= other.scale.to(network.scale.device) / network.scale


@torch.no_grad()
def move_average(average: nn.Module, network: nn.Module, decay: float) -> None:
    """Move the weights of an average towards those of a network of the same shape; decay 1: not at all."""
    for old, new in zip(average.parameters(), network.parameters(), strict=True):
        old.lerp_(new, 1 - decay)


def flat_gradient(parameters: list[nn.Parameter]) -> Tensor:
    """Zeros [weights], of which the gradients of all parameters are parts from now on.

    So one operation clears, averages, measures or scales them all, where one for each of many small tensors takes ten
    times as long.
    """
    flat = torch.zeros(sum(each.numel() for each in parameters), device=parameters[0].device)
    for each, part in zip(parameters, flat.split([each.numel() for each in parameters]), strict=True):
        each.grad = part.view_as(each)
    return flat
